"""`gov_backfill_sweep`: an inventory from its beginning, once (doc 31 §4, doc 39 §39.5).

H is fixed at the start; batches go by keyset from the beginning, the rows without a timestamp last (or page by page,
where no index gives an order); after a crash the sweep goes on from the committed position, and F := H at its end. Rows
born meanwhile belong to the intake, which tails from F. A sweep in ranges has a cursor and a lease for each, and one of
the whole that closes when all of them have.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from psycopg import errors as pg
from psycopg import sql

from oneroof.backfill import keyset, pages, ranges
from oneroof.backfill.keyset import Portion
from oneroof.candidates import apply_batch
from oneroof.candidates.apply_batch import Statements
from oneroof.database.connection import Connection
from oneroof.errors import OneroofError
from oneroof.failures.batch_size import Width
from oneroof.failures.error_kinds import describe
from oneroof.fence import cursor
from oneroof.fence.cursor import Cursor
from oneroof.fence.fenced_batch import Batch, run_fenced
from oneroof.fence.lease import Lease
from oneroof.fence.step import MOVED, NOTHING, Run, Step, isolating
from oneroof.intake import retry_failed
from oneroof.intake.retry_failed import Retries
from oneroof.judgement import fact_sets, judgements
from oneroof.signals import emission
from oneroof.sources.source import Source
from oneroof.tail import page_ranges, row_queries, table_files
from oneroof.tail.row_queries import Bounds, Range

NAME = "gov_backfill_sweep"
COMPLETED = "governance.backfill.sweep_completed"
BATCH = 5_000
# After so many batches in a row that met a known key, upserts are the rule.
PATIENCE = 3
# So many known keys of a batch are written apart from it; with more of them the whole batch is an upsert.
APART = 2
# Where an index has the order, a batch is read by it. In the middle of a table the planner takes the rows behind one
# end and before the other for a quarter of all, and would read them all for every batch.
BY_INDEX = {"enable_seqscan": "off"}
# A sweep that is over looks now and then whether it is wanted again.
RESTING = Step(seen=0, written=0, idle=True, rest=5.0)
T = TypeVar("T")
_ALL = Bounds(frontier=None, horizon=None)


@dataclass(slots=True)
class BackfillSweep:
    """The sweep of one source, or of one range of it (`scope`), by one instance."""

    connection: Connection
    source: Source
    lease: Lease
    batch: int = BATCH
    scope: str | None = None
    run: Run = field(default_factory=Run, init=False)
    _draft: Run = field(default_factory=Run, init=False)
    _statements: Statements = field(default_factory=Statements, init=False)
    _width: Width = field(init=False)
    _pages: Width = field(default_factory=page_ranges.width, init=False)
    _known_keys: int = field(default=0, init=False)
    _judged: int = field(default=0, init=False)
    _has_due: bool = field(default=False, init=False)
    _bounds: Bounds = field(default=_ALL, init=False)
    _retries: Retries = field(init=False)

    def __post_init__(self) -> None:
        self._width = Width(most=self.batch)
        self._retries = Retries(NAME, self.source, self.name, Width(most=self.batch), anew=True)

    @property
    def name(self) -> str:
        """The source in the cursor and the lease: itself, or a range of it."""
        return self.scope or self.source.source_name

    def run_once(self) -> Step:
        """One batch, or the opening or closing of the window; then what failed before and is due; idle after that."""
        width = self._width if self.source.in_index_order else self._pages
        step = isolating(width, self._optimistically, lambda error: self._fenced(self._stager(error)))
        again = self._retries.run_once(self.connection, self.lease, due=self._has_due)
        return step if again.idle or not step.idle else again

    def cut(self, shares: int) -> int:
        """Go on in so many ranges; how many there are now, 0 where the sweep is done or cannot be cut."""

        def plan(batch: Batch) -> int:
            here = batch.cursor
            if here.frontier is not None or "ranges" in here.metadata:
                return len(ranges.names(self.connection, worker=NAME, source=self.name))
            if here.window_horizon is None:
                self._open(here)
                here = replace(here, window_horizon=here.horizon)
                while self._judge():
                    pass
            blocks = table_files.read_ground(self.connection, self.source).blocks
            return ranges.cut(self.connection, here, self.source, shares=shares, blocks=blocks)

        return self._behind_fence(plan, doing="cutting")

    def _optimistically(self) -> Step:
        """Insert plainly. A key that is there is named by the server, and its rows go the slower way by themselves;
        where more than a few are, all of the batch does.
        """
        met: list[str] = []
        while self._known_keys < PATIENCE and len(met) <= APART:
            try:
                step = self._fenced(self._seeder(met))
            except OneroofError as error:
                if not isinstance(error.__cause__, pg.UniqueViolation):
                    raise
                key = apply_batch.known_key(error.__cause__)
                if key is None or key in met:
                    break
                met.append(key)
            else:
                self._known_keys = self._known_keys + 1 if met else 0
                return step
        self._known_keys += 1
        return self._fenced(self._reseed)

    def _fenced(self, put: Put) -> Step:
        step, self._has_due = self._behind_fence(lambda batch: self._next(batch, put), doing="sweeping")
        self.run = self._draft
        return step

    def _behind_fence(self, piece: Callable[[Batch], T], *, doing: str) -> T:
        who = {"worker": NAME, "source": self.name, "doing": f"{doing} {self.name}"}
        planning = BY_INDEX if self.source.in_index_order else None
        return run_fenced(self.connection, self.lease, piece, planning=planning, **who)

    def _next(self, batch: Batch, put: Put) -> tuple[Step, bool]:
        here, self._draft = batch.cursor, self.run
        return self._portion(batch, here, put), here.has_due

    def _portion(self, batch: Batch, here: Cursor, put: Put) -> Step:
        """Open the window, close it, or apply the next portion of it."""
        if here.window_horizon is None:
            return RESTING if here.frontier is not None else self._open(here)
        if "ranges" in here.metadata:
            return self._close_ranges(here)
        if here.window_at is None and here.phase == "seeding" and self._judge():
            return MOVED
        # Rows that may have been counted before, in another cluster or before a replay, count if they are news; in a
        # replay what is beyond H is news to the intake.
        moved = here.cluster_identity != here.identity
        known = moved or here.phase == "reconciling"
        self._bounds = Bounds(frontier=None, horizon=here.window_horizon) if known and not moved else _ALL
        portion = self._find(here, known=known)
        if portion is None:
            self._close(here)
            return MOVED
        written = put(portion.covered, portion.covered.parameters()) if portion.rows else 0
        self._advance(batch, portion, written=written)
        if portion.is_last:
            batch.flush()
            self._close(here)
        return Step(seen=portion.rows, written=written, idle=False)

    def _find(self, here: Cursor, *, known: bool) -> Portion | None:
        """The next portion; None behind the last page."""
        given = self.connection, self.source, self._statements
        if self.source.in_index_order:
            return keyset.next_portion(*given, here, most=self._width.now, known=known)
        at, end = pages.place(self.connection, self.source, here)
        if at["tid"] >= end:
            return None
        if at.get("again"):
            self._bounds = Bounds(frontier=None, horizon=here.window_horizon)
        found: dict[str, Any] = {"at": at, "end": end, "horizon": here.window_horizon, "known": known}
        return pages.next_portion(*given, bounds=self._bounds, wide=self._pages, most=self.batch, **found)

    def _close_ranges(self, here: Cursor) -> Step:
        if not ranges.are_swept(self.connection, worker=NAME, source=self.name):
            return NOTHING
        self._close(here)
        return MOVED

    def _close(self, here: Cursor) -> None:
        cursor.close_window(self.connection, here, phase="incremental")
        cursor.summarise(self.connection, here, books=self.source.source_name)
        if self.name == self.source.source_name:
            number = int(here.metadata.get("source_snapshot_ref") or 0)
            who = {"worker": NAME, "source": self.name}
            emission.emit(self.connection, [emission.completed(COMPLETED, **who, number=number, seen=here.events_seen)])

    def _open(self, here: Cursor) -> Step:
        ground = table_files.read_ground(self.connection, self.source)
        phase = "seeding" if here.phase is None else "reconciling"
        metadata = {"leaves": ground.leaves, "source_snapshot_ref": self._snapshot(here.horizon, ground.blocks)}
        cursor.open_window(self.connection, here, phase=phase, metadata=metadata)
        if phase == "seeding":
            fact_sets.sample(self.connection, self.source, blocks=ground.blocks)
        return MOVED

    def _judge(self) -> bool:
        """Judge some of the facts that are known already; whether there were any."""
        self._judged += 1
        return self._judged <= judgements.ROUNDS and judgements.judge(self.connection, self.source) > 0

    def _snapshot(self, horizon: int, blocks: int) -> int:
        """What the sweep is about to read (doc 31 §5): its candidates say that they are of this. The fingerprints of
        groups are the audit's, which reads the same rows.
        """
        asking = row_queries.newest(self.source)
        row = self.connection.execute(asking).fetchone() if asking else None
        metrics = {"horizon": str(horizon), "pages": blocks, "newest": row[0] if row else None}
        return cursor.take_snapshot(self.connection, self.source.source_name, "governance.backfill", metrics)

    def _rows(self, covered: Range | page_ranges.Piece, *, bare: bool = False) -> sql.Composed:
        if isinstance(covered, Range):
            where = [row_queries.in_stretch(self.source, covered, self._bounds)]
        else:
            where = [row_queries.TIDS, row_queries.in_window(self._bounds)]
        if self._bounds.horizon is not None and not bare:
            # Read again in the same cluster: what is there as it was written goes no further.
            where.append(row_queries.news(self.source))
        return row_queries.rows(self.source, where=sql.SQL(" AND ").join(where), limit=False, bare=bare)

    def _seeder(self, met: list[str]) -> Put:
        def put(covered: Range | page_ranges.Piece, given: dict[str, Any]) -> int:
            given = {**given, **self._bounds.parameters(), "met": met}
            if not met:
                return self._put("seed", covered, given, apply_batch.seeding)
            fresh = self._put("seed", covered, given, apply_batch.seeding, some=apply_batch.unmet)
            return fresh + self._upsert(covered, given, some=apply_batch.met)

        return put

    def _reseed(self, covered: Range | page_ranges.Piece, given: dict[str, Any]) -> int:
        return self._upsert(covered, {**given, **self._bounds.parameters()})

    def _upsert(self, covered: Range | page_ranges.Piece, given: dict[str, Any], *, some: Some | None = None) -> int:
        written = self._put("reseed", covered, given, apply_batch.reseeding, some=some)
        if self.source.births:
            written += self._put("take", covered, given, apply_batch.taking, some=some)
        self._put("duplicates", covered, given, apply_batch.noting_duplicates, some=some)
        return written

    def _put(
        self,
        name: str,
        covered: Range | page_ranges.Piece,
        given: dict[str, Any],
        compose: Callable[[sql.Composed], sql.Composed],
        *,
        some: Some | None = None,
    ) -> int:
        """Run one of the statements on a batch, or on some rows of it."""

        def composing() -> sql.Composed:
            rows = self._rows(covered)
            return compose(rows if some is None else some(rows))

        statement = self._statements.get(name, some, *self._shape(covered), compose=composing)
        return apply_batch.put(self.connection, self.source, statement, given)

    def _shape(self, covered: Range | page_ranges.Piece) -> tuple[Hashable, Hashable]:
        return covered.shape, self._bounds.shape

    def _stager(self, error: OneroofError) -> Put:
        def put(covered: Range | page_ranges.Piece, given: dict[str, Any]) -> int:
            who = {
                **self._bounds.parameters(),
                "worker": NAME,
                "source": self.name,
                "cursor": None,
                "keep": apply_batch.FORGET,
                **describe(error),
            }
            statement = apply_batch.staging(self._rows(covered, bare=True)).as_bytes(None)
            done = retry_failed.stage(
                self.connection, self.source, apply_batch.ask(self.source, statement, {**given, **who})
            )
            self._draft = replace(self.run, dlq=self.run.dlq + done.written)
            return done.written

        return put

    def _advance(self, batch: Batch, portion: Portion, *, written: int) -> None:
        # How many have which verdict is in the books; the summary has it when the sweep is through.
        seen = written if portion.counted is None else portion.counted
        self._draft = replace(self._draft, batch_count=self.run.batch_count + 1, rows_seen=self.run.rows_seen + seen)
        scanned = batch.cursor.events_seen + seen
        summary = {
            **self._draft.summary(),
            "scanned": scanned,
            "candidates_relevant": scanned,
            "failed": self._draft.dlq,
        }
        batch.advance(at=portion.at, seen=seen, written=written, watermark=portion.watermark, summary=summary)


Put = Callable[[Any, dict[str, Any]], int]
Some = Callable[[sql.Composed], sql.Composed]
