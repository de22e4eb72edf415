"""Cursors: how far a worker is in a source (doc 39 §39.4), moved in the same transaction as its effects.

The watermark `(last_watermark_ts, last_watermark_id)` is for people and for the fast lane; completeness rests on the
frontier: every source row with an xid below it that will ever be visible has been applied. A window is one pass from
the frontier to a horizon H fixed at its start; `window_at` is where in it to go on after a crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from oneroof.db import Connection, queries


@dataclass(frozen=True, slots=True)
class Cursor:
    """A row of `gov_worker_cursor`; xids as integers, timestamps as PostgreSQL writes them (some fit no other type)."""

    worker_name: str
    source_name: str
    phase: str | None
    last_watermark_ts: str | None
    last_watermark_id: str | None
    watermark_text: str | None
    frontier: int | None
    window_horizon: int | None
    window_at: dict[str, Any] | None
    cluster_identity: str | None
    events_seen: int
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Horizon:
    """Below it every transaction is finished; and the cluster and timeline in which that is so."""

    xid: int
    identity: str


def read_horizon(connection: Connection) -> Horizon:
    """Take H, always before the rows it bounds are read."""
    with connection.cursor(row_factory=class_row(Horizon)) as rows:
        found = rows.execute(queries("cursor")["horizon"]).fetchone()
    assert found is not None
    return found


def read(connection: Connection, *, worker: str, source: str) -> Cursor:
    """The cursor, made if it is the first time; call it in a transaction."""
    named = queries("cursor")
    parameters = {"worker": worker, "source": source}
    connection.execute(named["ensure"], parameters)
    with connection.cursor(row_factory=class_row(Cursor)) as rows:
        found = rows.execute(named["read"], parameters).fetchone()
    assert found is not None
    return found


def open_window(connection: Connection, cursor: Cursor, horizon: Horizon, *, phase: str) -> None:
    """Fix H for a pass. A frontier of another cluster or timeline counts for nothing: the pass is a full one."""
    connection.execute(
        queries("cursor")["open_window"],
        {
            "worker": cursor.worker_name,
            "source": cursor.source_name,
            "horizon": str(horizon.xid),
            "identity": horizon.identity,
            "phase": phase,
        },
    )


def start(connection: Connection, cursor: Cursor, *, frontier: int, identity: str) -> None:
    """Begin at a frontier that somebody else has reached, without a first window."""
    connection.execute(
        queries("cursor")["start"],
        {
            "worker": cursor.worker_name,
            "source": cursor.source_name,
            "frontier": str(frontier),
            "identity": identity,
        },
    )


def advance(
    connection: Connection,
    cursor: Cursor,
    *,
    at: dict[str, Any] | None,
    seen: int,
    watermark: tuple[str, str] | None,
    summary: dict[str, Any],
) -> None:
    """Move on inside the window; a watermark, if given, moves up and never down."""
    text, key = watermark or (None, None)
    connection.execute(
        queries("cursor")["advance"],
        {
            "worker": cursor.worker_name,
            "source": cursor.source_name,
            "at": None if at is None else Jsonb(at),
            "seen": seen,
            "text": text,
            "key": key,
            "summary": Jsonb(summary),
        },
    )


def close_window(connection: Connection, cursor: Cursor, *, phase: str) -> None:
    """Everything below H is applied: F := H, and what was remembered below it is forgotten."""
    parameters = {"worker": cursor.worker_name, "source": cursor.source_name, "phase": phase}
    connection.execute(queries("cursor")["close_window"], parameters)
    connection.execute(queries("cursor")["prune"], parameters)
