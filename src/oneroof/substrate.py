"""What the seeds expect of the host: tables, columns, types, and which are registries or channels.

The facts are `substrate.toml`; this module reads them and says what a database lacks. It never writes.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from oneroof.connection import Connection
from oneroof.statements import queries
from oneroof.transaction import transaction


@dataclass(frozen=True, slots=True)
class Table:
    """One table (or view) of the substrate as the seeds describe it."""

    name: str
    kind: str
    seed: str
    purpose: str
    columns: dict[str, str]
    timestamp: str | None
    key: tuple[str, ...]

    @property
    def is_source(self) -> bool:
        return bool(self.key)


@dataclass(frozen=True, slots=True)
class Lack:
    """One thing the host does not have: a whole table, a column, or a column's type."""

    table: str
    column: str | None
    expected: str
    found: str | None
    seed: str

    def __str__(self) -> str:
        if self.column is None:
            return f"{self.table} is missing ({self.seed}: {self.expected})"
        if self.found is None:
            return f"{self.table}.{self.column} is missing ({self.seed}: {self.expected})"
        return f"{self.table}.{self.column} is {self.found}, expected {self.expected} ({self.seed})"


@cache
def tables() -> tuple[Table, ...]:
    """The substrate, in the order of `substrate.toml`."""
    text = files("oneroof").joinpath("substrate.toml").read_text(encoding="utf-8")
    return tuple(
        Table(
            name=name,
            kind=entry["kind"],
            seed=entry["seed"],
            purpose=entry["purpose"],
            columns=entry["columns"],
            timestamp=entry.get("timestamp"),
            key=tuple(entry.get("key", ())),
        )
        for name, entry in tomllib.loads(text).items()
    )


def lacks(connection: Connection, *, schema: str) -> list[Lack]:
    """Everything the seeds expect and this database does not have."""
    found: dict[str, dict[str, str]] = {}
    names = [table.name for table in tables()]
    with transaction(connection, doing="looking at the substrate", read_only=True):
        connection.execute("SET LOCAL quote_all_identifiers = off")
        for table_name, column, kind in connection.execute(
            queries("substrate")["columns"], {"tables": names, "schema": schema}
        ):
            found.setdefault(table_name, {})[column] = kind
    missing: list[Lack] = []
    for table in tables():
        if table.name not in found:
            shape = ", ".join(f"{column} {kind}" for column, kind in table.columns.items())
            missing.append(Lack(table.name, None, f"{table.purpose}: {shape}", None, table.seed))
            continue
        missing += [
            Lack(table.name, column, kind, found[table.name].get(column), table.seed)
            for column, kind in table.columns.items()
            if found[table.name].get(column) != kind
        ]
    return missing
