"""A batch of rows becomes candidates, remembered versions or staged failures, in one statement each.

A first sweep inserts plainly, which is the fastest there is; if a key is already there the caller runs the batch again
as an upsert, in which a version that was applied before, or that comes back with the same facts, changes nothing
(promise 2). The first row that resolves to a key represents it (doc 31 §6: duplicates collapse).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import sql

from oneroof.db import Connection, queries
from oneroof.source import Source

# Until rules exist every verdict is undecided, under no ruleset.
NO_RULESET = "none"
EVERY = sql.SQL("true")
# An xid that no row has: versions below it are not remembered.
FORGET = 2**62


@dataclass(frozen=True, slots=True)
class Applied:
    """What a batch did: rows read, those of them that count, candidates written, our own rows among them, the latest
    timestamp, and the latest row to be believed: NULL, infinity and what is beyond now + 5 min mark nothing.
    """

    read: int
    counted: int
    written: int
    own: int
    last_ts: str | None
    mark_ts: str | None
    mark_key: str | None


def seed(connection: Connection, source: Source, rows: sql.Composed, parameters: dict[str, Any]) -> int:
    """Write rows whose keys are believed to be new; a key that is not raises UniqueViolation. Rows written."""
    return _put(connection, "seed", source, rows, parameters)


def reseed(connection: Connection, source: Source, rows: sql.Composed, parameters: dict[str, Any]) -> int:
    """Write rows whose keys may be there; rows written or changed."""
    return _put(connection, "reseed", source, rows, parameters)


def apply(
    connection: Connection,
    source: Source,
    rows: sql.Composed,
    parameters: dict[str, Any],
    *,
    effect: str | None = None,
    counts: sql.Composable = EVERY,
) -> Applied:
    """Do what rows of this kind of source do, and remember the versions; `effect` stands in for the usual one."""
    put = sql.SQL(effect or queries("batch")[source.source_kind]).format(upsert=sql.SQL(queries("batch")["upsert"]))
    return _apply(connection, source, rows, parameters, put=put, counts=counts)


def stage(
    connection: Connection, source: Source, rows: sql.Composed, parameters: dict[str, Any], *, counts: sql.Composable
) -> Applied:
    """Put bare rows aside that cannot be applied, and remember them like any other."""
    given = {**parameters, "table": source.table_name}
    return _apply(connection, source, rows, given, put=sql.SQL(queries("batch")["staged"]).format(), counts=counts)


def _put(connection: Connection, how: str, source: Source, rows: sql.Composed, parameters: dict[str, Any]) -> int:
    upsert = sql.SQL(queries("batch")["upsert"])
    statement = sql.SQL(queries("batch")[how]).format(rows=rows, upsert=upsert)
    return connection.execute(statement, _given(source, parameters)).rowcount


def _apply(
    connection: Connection,
    source: Source,
    rows: sql.Composed,
    parameters: dict[str, Any],
    *,
    put: sql.Composed,
    counts: sql.Composable,
) -> Applied:
    remembered = sql.SQL(queries("batch")["remembered"])
    effects = sql.SQL("remembered AS ({}), put AS ({})").format(remembered, put)
    statement = sql.SQL(queries("batch")["apply"]).format(rows=rows, effects=effects, counts=counts)
    row = connection.execute(statement, _given(source, parameters)).fetchone()
    assert row is not None
    return Applied(*row)


def _given(source: Source, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"scope": source.source_name, "ruleset": NO_RULESET, **parameters}
