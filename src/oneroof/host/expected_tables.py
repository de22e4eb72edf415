"""What oneroof needs of the host: tables, columns, types, NOT NULLs and defaults, and which are registries or channels.

The facts are `expected_tables.toml`; this module reads them and says what a database lacks. It never writes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.database.transaction import transaction
from oneroof.errors import Unavailable

_NEEDS = {"not null", "default"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its type; what is needed of one, or what is there."""

    type: str
    not_null: bool
    has_default: bool

    def __str__(self) -> str:
        words = (self.type, "NOT NULL" if self.not_null else "", "DEFAULT" if self.has_default else "")
        return " ".join(word for word in words if word)

    def meets(self, needed: Column) -> bool:
        return self.type == needed.type and self.not_null >= needed.not_null and self.has_default >= needed.has_default


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the substrate as the seeds describe it."""

    name: str
    kind: str
    seed: str
    purpose: str
    columns: dict[str, Column]
    timestamp: str | None
    key: tuple[str, ...]
    inserts: tuple[str, ...]

    @property
    def is_source(self) -> bool:
        return bool(self.key)


@dataclass(frozen=True, slots=True)
class Lack:
    """One thing the host does not have: a table, a column, its type, its NOT NULL or its default."""

    table: str
    column: str | None
    needed: str
    found: str
    seed: str


class Lacking(Unavailable):
    """The host does not have what an installation needs; each lack is a row of a table."""

    def __init__(self, database: str, schema: str, lacks: Sequence[Lack]) -> None:
        super().__init__(
            f"the schema {schema} of the database {database} lacks {len(lacks)} things that oneroof needs of the host",
            hint="install where the host's tables are (--host-schema), or try it on a replica: oneroof estate build",
        )
        self.lacks = list(lacks)
        self.details = {"lacking": self.lacks}


@cache
def tables() -> tuple[Table, ...]:
    """The substrate, in the order of `expected_tables.toml`."""
    text = files("oneroof").joinpath("host", "expected_tables.toml").read_text(encoding="utf-8")
    return tuple(_table(name, entry) for name, entry in tomllib.loads(text).items())


def lacks(connection: Connection, *, schema: str) -> list[Lack]:
    """Everything that is needed of the host and that its schema does not have."""
    found: dict[str, dict[str, Column]] = {}
    given = {"tables": [table.name for table in tables()], "schema": schema}
    with transaction(connection, doing="looking at the substrate", read_only=True):
        connection.execute("SET LOCAL quote_all_identifiers = off")
        for table_name, column, *facts in connection.execute(queries("host/expected_tables")["columns"], given):
            found.setdefault(table_name, {})[column] = Column(*facts)
    return [lack for table in tables() for lack in _lacks_of(table, found.get(table.name))]


def _lacks_of(table: Table, found: dict[str, Column] | None) -> Iterator[Lack]:
    if found is None:
        yield Lack(table.name, None, f"a table: {table.purpose}", "missing", table.seed)
        return
    for name, needed in table.columns.items():
        there = found.get(name)
        if there is None:
            yield Lack(table.name, name, str(needed), "missing", table.seed)
        elif not there.meets(needed):
            yield Lack(table.name, name, str(needed), str(there), table.seed)
    # What our rows do not have the host must not insist on.
    for name, there in found.items() if table.inserts else ():
        insists = there.not_null and not there.has_default and name not in table.inserts
        if insists and not (name in table.columns and table.columns[name].has_default):
            yield Lack(table.name, name, "NULL allowed, or a default", str(there), table.seed)


def _table(name: str, entry: dict[str, Any]) -> Table:
    return Table(
        name=name,
        kind=entry["kind"],
        seed=entry["seed"],
        purpose=entry["purpose"],
        columns={column: _column(text) for column, text in entry["columns"].items()},
        timestamp=entry.get("timestamp"),
        key=tuple(entry.get("key", ())),
        inserts=tuple(entry.get("inserts", ())),
    )


def _column(text: str) -> Column:
    kind, *needs = text.split(", ")
    assert set(needs) <= _NEEDS, text
    return Column(type=kind, not_null="not null" in needs, has_default="default" in needs)
