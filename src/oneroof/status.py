"""The reads of the command line and the console, from summary views alone (doc 39 §39.7: no full scan for a screen)."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.rows import class_row

from oneroof.db import Connection, queries, transaction


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """One worker on one source: how far it is, and whether it lives."""

    worker_name: str
    source_name: str
    state: str
    phase: str | None
    lease_owner: str | None
    tick_seconds: float | None
    events_seen: int
    dead_lettered: int
    last_watermark_ts: str | None
    lag_seconds: float | None
    frontier_seconds: float | None
    frontier_xids: int | None
    window_open: bool


def workers(connection: Connection) -> list[WorkerStatus]:
    """Every cursor that there is."""
    with (
        transaction(connection, doing="reading the status", read_only=True, statement_timeout=5),
        connection.cursor(row_factory=class_row(WorkerStatus)) as cursor,
    ):
        return cursor.execute(queries("status")["workers"]).fetchall()
