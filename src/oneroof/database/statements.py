"""Statements: the named queries of `sql/queries/`, and how one that comes again and again is run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from oneroof.database import host_schema
from oneroof.database.connection import Answer, Connection
from oneroof.errors import Wrong

_PARAMETER = re.compile(rb"%(?:\((?P<name>\w+)\)s|%)")
_NAME = re.compile(r"^-- (?P<name>[a-z_]+) --$(?P<body>.*?)(?=^-- [a-z_]+ --$|\Z)", re.MULTILINE | re.DOTALL)


def execute(
    connection: Connection, statement: bytes, parameters: Mapping[str, Any], *, prepare: bool | None = None
) -> Answer:
    """Run a statement that comes again and again; the driver would look through a long one for parameters each time.
    One that is long to plan is prepared the first time, where anything is.
    """
    numbered, names = _numbered(statement)
    return psycopg.RawCursor(connection).execute(numbered, [parameters[name] for name in names], prepare=prepare)


@lru_cache(maxsize=500)
def _numbered(statement: bytes) -> tuple[bytes, list[str]]:
    """With the names of its parameters in the order of their numbers."""
    names: dict[str, int] = {}

    def number(found: re.Match[bytes]) -> bytes:
        name = found["name"]
        return b"%" if name is None else b"$%d" % names.setdefault(name.decode(), len(names) + 1)

    return _PARAMETER.sub(number, statement), list(names)


def one(connection: Connection, query: str | bytes, parameters: Any = None) -> TupleRow:
    """The only row of a query that always has one."""
    row = connection.execute(query, parameters).fetchone()
    if row is None:
        raise Wrong("a query that always has a row had none")
    return row


@cache
def queries(module: str) -> dict[str, str]:
    """The named queries of `sql/queries/<module>.sql`: `-- name --` and then the statement."""
    text = files("oneroof").joinpath("sql", "queries", f"{module}.sql").read_text(encoding="utf-8")
    return {found["name"]: host_schema.placed(found["body"].strip()) for found in _NAME.finditer(text)}
