"""Where the host's tables lie. Our SQL names each of them `host.<table>`; the host's schema is put there.

The installer puts it into functions, views, grants and migrations and records it; `queries()` puts this process's
setting into the queries. A process with another setting than the one recorded is told so by `migrate`.
"""

from __future__ import annotations

import re
from functools import cache

from oneroof import config

_NAMED = re.compile(r'(?<![\w."$])host\.(?=[a-z_])')


def placed(text: str, schema: str | None = None) -> str:
    """SQL of ours with the host's schema in place; without one given, with this process's."""
    return _NAMED.sub(lambda _: f"{quoted(of_process() if schema is None else schema)}.", text)


def quoted(schema: str) -> str:
    """The schema as an identifier of SQL. It has no quotation mark in it, so that it may stand in a literal."""
    return f'"{schema}"'


@cache
def of_process() -> str:
    """The schema that this process is set to. Asked only when a query names a table of the host."""
    return config.load().host_schema
