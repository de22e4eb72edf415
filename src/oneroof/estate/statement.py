"""The estate's SQL: one file per statement or script under `estate/sql/`, read once."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def statement(name: str) -> str:
    """The text of `estate/sql/<name>.sql`."""
    return files("oneroof.estate").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
