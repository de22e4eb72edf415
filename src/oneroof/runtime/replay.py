"""Replay: read a source again, from a moment on or from its beginning, as a worker would (doc 32 §6, promise 5).

What is there as it would be written is left alone, a change that was told is not told again, and the cursor stays where
it is: so a replay adds what was missing and nothing else, may be broken off at any time, and may be repeated. A dry run
does the same, piece by piece, and undoes each: what it says is what a real one would do. The worker's lease is held
meanwhile, so that no other process does the same work at the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from oneroof.candidates import apply_batch
from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.errors import OneroofError, Usage
from oneroof.failures import error_kinds
from oneroof.failures.batch_size import Width
from oneroof.fence.cursor import Cursor
from oneroof.fence.fenced_batch import Batch, run_fenced
from oneroof.fence.lease import Lease
from oneroof.intake import change_marks
from oneroof.sources.row_expressions import named
from oneroof.sources.source import CHANGELOG, INVENTORY, Source
from oneroof.tail import header_queries, page_ranges, row_queries, table_files
from oneroof.tail.page_ranges import Piece, Question
from oneroof.tail.row_queries import SLOTS, Bounds
from oneroof.workers import backfill_sweep, handoff_intake

BATCH = 5_000
START = "start"
WORKERS = (backfill_sweep.NAME, handoff_intake.NAME)
_ALL = Bounds(frontier=None, horizon=None)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay has come to: rows read, candidates or groups that were not as they should be, signals that had not
    been made, and rows that cannot be applied, which are where they were: dead letters.
    """

    seen: int = 0
    written: int = 0
    signals: int = 0
    failed: int = 0

    def plus(self, other: Replayed) -> Replayed:
        return Replayed(
            self.seen + other.seen,
            self.written + other.written,
            self.signals + other.signals,
            self.failed + other.failed,
        )


class _Undone(Exception):
    """Carries what a dry run did out of the transaction that it undoes."""

    def __init__(self, done: Replayed) -> None:
        super().__init__()
        self.done = done


@dataclass(slots=True)
class Replay:
    """One worker on one source again; `since` is a timestamp as the source has it, none is the beginning."""

    connection: Connection
    worker: str
    source: Source
    lease: Lease
    since: str | None
    is_dry: bool
    batch: int = BATCH
    _wide: Width = field(default_factory=page_ranges.width, init=False)

    def __post_init__(self) -> None:
        name, kind = self.source.source_name, self.source.source_kind
        if self.worker not in WORKERS:
            raise Usage(f"{self.worker} reads no source", hint=f"workers that do: {', '.join(WORKERS)}")
        if self.worker == backfill_sweep.NAME and kind != INVENTORY:
            raise Usage(f"{name} is a {kind}, which nobody sweeps", hint=f"oneroof replay handoff_intake {name} …")
        if self.since is not None and self.source.timestamp_column is None:
            raise Usage(f"the rows of {name} have no timestamp to begin from", hint="--from start")

    def run(self, tell: Callable[[int, int, Replayed], None]) -> Replayed:
        """From the first page to the last; `tell` hears how many pages of how many, and what came of it."""
        done, at = Replayed(), 0
        self._behind_fence(self._require_begun, doing="looking at")
        while True:
            piece, end, step = self._piece(at)
            done, at = done.plus(step), piece.last
            tell(at // SLOTS, end // SLOTS, done)
            if at >= end:
                break
        if not self.is_dry:
            self._behind_fence(lambda _: self._note(done), doing="noting a replay of")
        return done

    def _require_begun(self, begun: Batch) -> None:
        """What was there when the intake first looked is no change; who came before it would tell all of that."""
        if self.worker == handoff_intake.NAME and begun.cursor.phase in (None, "seeding"):
            what = f"{self.source.source_name} has not been read by {self.worker} for the first time"
            raise Usage(what, hint="oneroof run --until-idle")

    def _piece(self, first: int) -> tuple[Piece, int, Replayed]:
        while True:
            found: list[tuple[Piece, int]] = []

            def work(begun: Batch, found: list[tuple[Piece, int]] = found) -> Replayed:
                end = table_files.read_ground(self.connection, self.source).blocks * SLOTS
                piece = page_ranges.next_piece(
                    self.connection, *self._questions, first=first, end=end, wide=self._wide, batch=self.batch
                )
                found.append((piece, end))
                return self._apply(begun.cursor, piece)

            try:
                done = self._behind_fence(work, doing="replaying")
            except _Undone as undone:
                done = undone.done
            except OneroofError as error:
                if error_kinds.kind_of(error) not in (error_kinds.POISON, error_kinds.SLOW) or not found:
                    raise
                if self._wide.narrow():
                    continue
                # A row that cannot be applied at all is a dead letter of the worker that met it first.
                done = Replayed(seen=found[-1][0].rows, failed=found[-1][0].rows)
            else:
                self._wide.widen()
            piece, end = found[-1]
            return piece, end, done

    def _apply(self, here: Cursor, piece: Piece) -> Replayed:
        if not piece.rows:
            return Replayed()
        rows = row_queries.rows(self.source, where=self._where, limit=False)
        given: dict[str, Any] = {
            **piece.parameters(),
            "since": self.since,
            # What happened before it was registered was never handed off.
            "started": here.metadata.get("started") or self.since or "-infinity",
            "cursor": here.cursor_id,
            "keep": apply_batch.FORGET,
            "worker": self.worker,
            "source": self.source.source_name,
            # A register tells what has changed by itself.
            "again": self.source.source_kind == CHANGELOG,
        }
        # What was handed off before is emitted before, and by no replay.
        while self.source.source_kind == INVENTORY and self._tell():
            pass
        before = self._signals()
        if self.worker == backfill_sweep.NAME:
            counted = self.connection.execute(sql.SQL("SELECT count(*) FROM ({}) AS r").format(rows), given).fetchone()
            seen = counted[0] if counted else 0
            written = apply_batch.put(self.connection, self.source, apply_batch.reseeding(rows).as_bytes(None), given)
            apply_batch.put(self.connection, self.source, apply_batch.noting_duplicates(rows).as_bytes(None), given)
        else:
            applying = change_marks.applying(self.source, rows).as_bytes(None)
            applied = apply_batch.apply(self.connection, apply_batch.ask(self.source, applying, given))
            seen, written = applied.read, applied.written
            self._tell()
        done = Replayed(seen=int(seen), written=written, signals=self._signals() - before)
        if self.is_dry:
            raise _Undone(done)
        return done

    def _tell(self) -> int:
        return change_marks.tell(self.connection, self.source, which=change_marks.ALL, most=self.batch, wait=True)

    @property
    def _where(self) -> sql.Composable:
        conditions: list[sql.Composable] = [row_queries.TIDS]
        if self.since is not None:
            column = str(self.source.timestamp_column)
            kind = sql.SQL(self.source.types[column])
            conditions.append(sql.SQL("{} >= %(since)s::text::{}").format(named(column), kind))
        return sql.SQL(" AND ").join(conditions)

    @property
    def _questions(self) -> tuple[Question, Question]:
        count, cut = (
            make(self.source, _ALL).as_bytes(None) for make in (header_queries.tid_count, header_queries.tid_cut)
        )
        return Question(count, _ALL.parameters()), Question(cut, _ALL.parameters())

    def _signals(self) -> int:
        """How many rows this transaction has added to the outbox and to what is held."""
        return int(one(self.connection, queries("runtime/replay")["signals"])[0])

    def _note(self, done: Replayed) -> None:
        change_marks.note(self.connection, self.source, "replay", seen=done.seen, written=done.written)

    def _behind_fence(self, work: Callable[[Batch], Any], *, doing: str) -> Any:
        who = {"worker": self.worker, "source": self.source.source_name, "doing": f"{doing} {self.source.source_name}"}
        return run_fenced(self.connection, self.lease, work, **who, planning=apply_batch.COMPARING)


def moment(connection: Connection, source: Source, words: str) -> str | None:
    """What `--from` means: the beginning, or a timestamp as the source's column would have it."""
    if words == START:
        return None
    column = source.timestamp_column
    if column is None:
        raise Usage(f"the rows of {source.source_name} have no timestamp to begin from", hint="--from start")
    try:
        found = connection.execute(
            sql.SQL("SELECT {}::{}::text").format(sql.Literal(words), sql.SQL(source.types[column]))
        ).fetchone()
    except psycopg.DataError as error:
        hint = "--from start, or a time such as 2026-06-01"
        raise Usage(f"{words!r} is no {source.types[column]}", hint=hint) from error
    assert found is not None
    return str(found[0])
