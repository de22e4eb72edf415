"""The guarantee that a source can have: `exact`, or `reconciled` every so often, and why (design: the tail)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oneroof.database import host_schema
from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.host import expected_tables
from oneroof.sources.source import REGISTER


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What completeness a source can have, by its kind of table (design: the tail)."""

    source: str
    guarantee: str
    why: str
    index: str | None
    key_is_unique: bool = False


def _followed(connection: Connection) -> list[tuple[str, str, str | None, list[str], str | None]]:
    """Each source with its table, timestamp, key and kind: what is registered, or what would be without oneroof."""
    (registered,) = connection.execute(queries("sources/guarantee")["registered"]).fetchone() or (False,)
    if registered:
        return [tuple(row) for row in connection.execute(queries("sources/guarantee")["sources"])]
    schema = host_schema.quoted(host_schema.of_process())
    return [
        (t.name, f"{schema}.{t.name}", t.timestamp, list(t.key), None) for t in expected_tables.tables() if t.is_source
    ]


def guarantees(connection: Connection) -> Iterator[Guarantee]:
    """What each source can have, judged for the role that will read it."""
    for name, table, timestamp, key, played in _followed(connection):
        wanted = [column for column in (timestamp, *key) if column is not None]
        given = {"table": table, "columns": wanted, "key": key}
        row = connection.execute(queries("sources/guarantee")["source"], given).fetchone()
        if row is None:
            yield Guarantee(name, "none", "the table is missing", None)
            continue
        kind, access, row_security, bypass, persistence, odd_leaves, index, unique = row
        if played == REGISTER:
            index = index or "none needed, a register is read whole"
        match kind:
            case "r" | "p" if persistence == "u":
                yield Guarantee(name, "reconciled", "an unlogged table is emptied by a crash", index, unique)
            case "r" | "p" if odd_leaves:
                yield Guarantee(name, "reconciled", f"{odd_leaves} of its parts are no ordinary tables", index, unique)
            case "r" | "p" if access not in ("heap", None):
                yield Guarantee(name, "reconciled", f"access method {access} has no xmin to tail by", index, unique)
            case "r" | "p" if row_security and not bypass:
                yield Guarantee(name, "reconciled", "row-level security may hide rows", index, unique)
            case "r" | "p":
                yield Guarantee(name, "exact", "an ordinary table, all rows visible", index, unique)
            case "f":
                yield Guarantee(name, "reconciled", "a foreign table has no xmin to tail by", index, unique)
            case _:
                yield Guarantee(name, "none", "not a table: views cannot be tailed", None)
