"""Candidates: one row per object in `governance_candidate_state`, written in batches by one statement each.

A batch is first inserted plainly, which is what a first sweep needs and the fastest there is; if a key is already
there the caller runs it again as an upsert, in which a version that was applied before, or that comes back with the
same facts, changes nothing (promise 2). The first row that resolves to a key represents it (doc 31 §6: duplicates
collapse).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import sql

from oneroof.db import Connection, queries
from oneroof.source import Source

# Until rules exist every verdict is undecided, under no ruleset.
NO_RULESET = "none"


@dataclass(frozen=True, slots=True)
class Applied:
    """What a batch did: rows read, those of them that count, candidates written, the last row in its order, and the
    latest one to be believed.

    Every row version counts in the one window that holds its xid, so that the counters equal the rows however often
    one is read. A timestamp beyond now + 5 min, or none, or an infinite one, is swept like any other but marks nothing.
    """

    read: int
    counted: int
    written: int
    last_ts: str | None
    last_key: str | None
    mark_ts: str | None
    mark_key: str | None


def insert(connection: Connection, source: Source, rows: sql.Composed, parameters: dict[str, Any]) -> Applied:
    """Write a batch whose keys are believed to be new; a key that is not raises UniqueViolation.

    `parameters` has those of the rows, and `below`, the horizon up to which a version counts.
    """
    return _apply(connection, "insert", source, rows, parameters)


def upsert(connection: Connection, source: Source, rows: sql.Composed, parameters: dict[str, Any]) -> Applied:
    """Write a batch whose keys may be there."""
    return _apply(connection, "upsert", source, rows, parameters)


def _apply(connection: Connection, how: str, source: Source, rows: sql.Composed, parameters: dict[str, Any]) -> Applied:
    statement = sql.SQL(queries("candidate")[how]).format(rows=rows)
    given = {**parameters, "source": source.source_name, "ruleset": NO_RULESET}
    row = connection.execute(statement, given).fetchone()
    assert row is not None
    return Applied(*row)
