"""The reads of the command line and the console, from summary views alone (doc 39 §39.7: no full scan for a screen)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """One worker on one source: how far it is, and whether it lives. Estimates are the planner's, of a first sweep."""

    worker_name: str
    source_name: str
    state: str
    phase: str | None
    lease_owner: str | None
    last_tick_status: str | None
    tick_seconds: float | None
    events_seen: int
    dead_lettered: int
    waiting: int
    dead: int
    last_watermark_ts: str | None
    lag_seconds: float | None
    frontier_seconds: float | None
    frontier_xids: int | None
    window_open: bool
    is_finished: bool
    is_late: bool
    pinned_by: str | None
    batches_done: int
    batches_estimate: int | None
    rows_estimate: int | None
    last_run_at: datetime | None
    last_run_summary: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Depth:
    """What waits: marks not yet judged, verdicts past their time (10,001 of either means more than ten thousand), and
    failed items that wait or are dead.
    """

    dirty: int
    stale: int
    waiting: int
    dead: int


@dataclass(frozen=True, slots=True)
class HorizonStatus:
    """Below it everything is finished; and the oldest transaction of another session, if there is one."""

    horizon: int
    horizon_xids: int
    pinned_by: str | None
    pinned_seconds: float | None


@dataclass(frozen=True, slots=True)
class Books:
    """How many objects of a source have which verdict, both grains together, from the ledger."""

    source_name: str
    total: int
    governed: int
    inherited: int
    covered: int
    orphan: int
    approved_exception: int
    retired: int
    stale: int
    deferred_birth: int
    class_0: int
    undecided: int


@dataclass(frozen=True, slots=True)
class Status:
    """How everything is, in one snapshot's time. Where there are no owners, the verdicts that need one wait."""

    workers: list[WorkerStatus]
    depth: Depth
    horizon: HorizonStatus
    books: list[Books]
    has_owners: bool

    @property
    def is_well(self) -> bool:
        return all(worker.state != "dead" for worker in self.workers)


def read(connection: Connection) -> Status:
    """Every cursor, the depth and the horizon; writes nothing."""
    named = queries("reads/status")
    with transaction(connection, doing="reading the status", read_only=True, statement_timeout=5):
        with connection.cursor(row_factory=class_row(WorkerStatus)) as cursor:
            workers = cursor.execute(named["workers"]).fetchall()
        with connection.cursor(row_factory=class_row(Depth)) as cursor:
            (depth,) = cursor.execute(named["depth"]).fetchall()
        with connection.cursor(row_factory=class_row(HorizonStatus)) as cursor:
            (horizon,) = cursor.execute(named["horizon"]).fetchall()
        with connection.cursor(row_factory=class_row(Books)) as cursor:
            books = cursor.execute(named["books"]).fetchall()
        (has_owners,) = one(connection, named["has_owners"])
    return Status(workers=workers, depth=depth, horizon=horizon, books=books, has_owners=has_owners)


def rows_to_sweep(connection: Connection) -> int:
    """About how many rows the first sweeps still have before them, by the planner's statistics; 0 if it has none."""
    with transaction(connection, doing="reading the status", read_only=True, statement_timeout=5):
        (rows,) = one(connection, queries("reads/status")["to_sweep"])
    return int(rows)
