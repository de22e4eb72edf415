"""`gov_backfill_sweep`: an inventory from its beginning, once (doc 31 §4, doc 39 §39.5).

H is fixed at the start; batches go by keyset from the beginning, the rows without a timestamp last (or page by page,
where no index gives an order); after a crash the sweep goes on from the committed position, and F := H at its end. Rows
born meanwhile belong to whoever tails from F. A sweep in ranges has a cursor and a lease for each, and one of the whole
that closes when all of them have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from psycopg import errors as pg
from psycopg import sql

from oneroof import batch, cursor, events, facts, headers, ranges, retries, strip, tail
from oneroof.batch import Statements
from oneroof.columns import DATED, EPOCH, UNDATED
from oneroof.cursor import Cursor
from oneroof.db import Connection
from oneroof.errors import OneroofError
from oneroof.lease import Lease
from oneroof.retries import Retries
from oneroof.retry import describe
from oneroof.source import Source
from oneroof.strip import Question
from oneroof.tail import SLOTS, Bounds, Range
from oneroof.width import Width
from oneroof.worker import MOVED, NOTHING, Run, Step, fenced, isolating

NAME = "gov_backfill_sweep"
COMPLETED = "governance.backfill.sweep_completed"
BATCH = 5_000
# After so many batches in a row that met a known key, upserts are the rule.
PATIENCE = 3
# So many known keys of a batch are written apart from it; with more of them the whole batch is an upsert.
APART = 2
PAGES = "pages"
# Where an index has the order, a batch is read by it. In the middle of a table the planner takes the rows behind one
# end and before the other for a quarter of all, and would read them all for every batch.
BY_INDEX = {"enable_seqscan": "off"}
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
    # Who has nothing left to sweep looks now and then whether somebody wants it again.
    calm: float = field(default=5.0, init=False)
    run: Run = field(default_factory=Run, init=False)
    _draft: Run = field(default_factory=Run, init=False)
    _statements: Statements = field(default_factory=Statements, init=False)
    _width: Width = field(init=False)
    _pages: Width = field(default_factory=strip.width, init=False)
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
        return again if step.idle else step

    def cut(self, shares: int) -> int:
        """Go on in so many ranges; how many there are now, 0 where the sweep is done or cannot be cut."""

        def plan(here: Cursor) -> int:
            if here.frontier is not None or "ranges" in here.metadata:
                return len(ranges.names(self.connection, worker=NAME, source=self.name))
            if here.window_horizon is None:
                self._open(here)
                here = replace(here, window_horizon=here.horizon)
                while self._judge():
                    pass
            blocks = cursor.read_ground(self.connection, self.source).blocks
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
                key = batch.known_key(error.__cause__)
                if key is None or key in met:
                    break
                met.append(key)
            else:
                self._known_keys = self._known_keys + 1 if met else 0
                return step
        self._known_keys += 1
        return self._fenced(self._reseed)

    def _fenced(self, put: Put) -> Step:
        step = self._behind_fence(lambda here: self._next(here, put), doing="sweeping")
        self.run = self._draft
        return step

    def _behind_fence(self, batch: Callable[[Cursor], T], *, doing: str) -> T:
        who = {"worker": NAME, "source": self.name, "doing": f"{doing} {self.name}"}
        planning = BY_INDEX if self.source.in_index_order else None
        return fenced(self.connection, self.lease, batch, planning=planning, **who)

    def _next(self, here: Cursor, put: Put) -> Step:
        self._draft = self.run
        self._has_due = here.has_due
        if here.window_horizon is None:
            return NOTHING if here.frontier is not None else self._open(here)
        if "ranges" in here.metadata:
            return self._close_ranges(here)
        if here.window_at is None and here.phase == "seeding" and self._judge():
            return MOVED
        # Rows that may have been counted before, in another cluster or before a replay, count if they are news; in a
        # replay what is beyond H is news to the intake.
        moved = here.cluster_identity != cursor.read_identity(self.connection)
        known = moved or here.phase == "reconciling"
        self._bounds = Bounds(frontier=None, horizon=here.window_horizon) if known and not moved else _ALL
        if self.source.in_index_order:
            return self._keyset(here, put, known=known)
        return self._walk(here, put, known=known)

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
            events.emit(self.connection, [events.completed(COMPLETED, **who, number=number, seen=here.events_seen)])

    def _open(self, here: Cursor) -> Step:
        horizon = cursor.read_horizon(self.connection, here)
        ground = cursor.read_ground(self.connection, self.source)
        phase = "seeding" if here.phase is None else "reconciling"
        metadata = {"leaves": ground.leaves, "source_snapshot_ref": self._snapshot(horizon.xid, ground.blocks)}
        cursor.open_window(self.connection, here, horizon, phase=phase, metadata=metadata)
        if phase == "seeding":
            facts.sample(self.connection, self.source, blocks=ground.blocks)
        return MOVED

    def _judge(self) -> bool:
        """Judge some of the facts that are known already; whether there were any."""
        self._judged += 1
        return self._judged <= facts.ROUNDS and facts.judge(self.connection, self.source) > 0

    def _snapshot(self, horizon: int, blocks: int) -> int:
        """What the sweep is about to read (doc 31 §5): its candidates say that they are of this. The fingerprints of
        groups are the audit's, which reads the same rows.
        """
        asking = tail.newest(self.source)
        row = self.connection.execute(asking).fetchone() if asking else None
        metrics = {"horizon": str(horizon), "pages": blocks, "newest": row[0] if row else None}
        return cursor.take_snapshot(self.connection, self.source.source_name, "governance.backfill", metrics)

    def _keyset(self, here: Cursor, put: Put, *, known: bool) -> Step:
        at = here.window_at or {}
        part = at.get("part", UNDATED if self.source.timestamp_column is None else DATED)
        upto = at.get("upto")
        stretch = Range(part=part, after=at.get("after"), upto=upto if part == DATED else None)
        # Without an upper bound: an old transaction somewhere delays the counting and the proof, never the work.
        given = {"batch": self._width.now, "below": str((here.window_horizon or 0) % EPOCH)}
        measure = self._statements.get(
            "end", stretch.shape, known, compose=lambda: tail.keyset_end(self.source, stretch, counting=not known)
        )
        row = self.connection.execute(measure, {**given, **stretch.parameters()}).fetchone()
        assert row is not None
        read, counted, last, mark = row
        written = 0
        if read:
            covered = Range(part=part, after=stretch.after, upto=last)
            written = put(covered, covered.parameters())
        full, undated_next = read == self._width.now, part == DATED and upto is None
        at = {"part": part, "after": last, "upto": upto} if full else {"part": UNDATED}
        marked = part == DATED and mark[0] not in (None, "-infinity")
        watermark = (mark[0], mark[1] if len(mark) == 2 else json.dumps(mark[1:])) if marked else None
        self._advance(here, at=at, seen=written if known else counted, written=written, watermark=watermark)
        if not full and not undated_next:
            self._close(here)
        return Step(seen=read, written=written, idle=False)

    def _walk(self, here: Cursor, put: Put, *, known: bool) -> Step:
        ground = cursor.read_ground(self.connection, self.source)
        at = here.window_at or {"part": PAGES, "tid": 0, "files": ground.files}
        if at["files"] != ground.files:
            at = {"part": PAGES, "tid": 0, "files": ground.files, "again": True}
        if at.get("again"):
            self._bounds = Bounds(frontier=None, horizon=here.window_horizon)
        first, end = at["tid"], ground.blocks * SLOTS
        if first >= end:
            self._close(here)
            return MOVED
        piece = strip.next_piece(
            self.connection,
            self._counting(self._bounds),
            self._question("cut", self._bounds, headers.tid_cut),
            first=first,
            end=end,
            wide=self._pages,
            batch=self.batch,
        )
        written = 0
        if piece.rows:
            written = put(piece, piece.parameters())
        # Counting every version once needs no more than the headers; what a rewrite shows again counts if it is news.
        counted = written if known or at.get("again") else self._counted(here, piece)
        self._advance(here, at={**at, "tid": piece.last}, seen=counted, written=written, watermark=None)
        return Step(seen=piece.rows, written=written, idle=False)

    def _counted(self, here: Cursor, piece: strip.Piece) -> int:
        bounds = Bounds(frontier=None, horizon=here.window_horizon)
        return strip.count(self.connection, self._counting(bounds), first=piece.first, last=piece.last)

    def _counting(self, bounds: Bounds) -> Question:
        return self._question("count", bounds, headers.tid_count)

    def _question(self, what: str, bounds: Bounds, make: Callable[[Source, Bounds], sql.Composed]) -> Question:
        statement = self._statements.get(what, bounds.shape, compose=lambda: make(self.source, bounds))
        return Question(statement, bounds.parameters())

    def _rows(self, covered: Range | strip.Piece, *, bare: bool = False) -> sql.Composed:
        if isinstance(covered, Range):
            where = [tail.in_stretch(self.source, covered, self._bounds)]
        else:
            where = [tail.TIDS, tail.in_window(self._bounds)]
        if self._bounds.horizon is not None and not bare:
            # Read again in the same cluster: what is there as it was written goes no further.
            where.append(tail.news(self.source))
        return tail.rows(self.source, where=sql.SQL(" AND ").join(where), limit=False, bare=bare)

    def _seeder(self, met: list[str]) -> Put:
        def put(covered: Range | strip.Piece, given: dict[str, Any]) -> int:
            given = {**given, **self._bounds.parameters(), "met": met}
            if not met:
                return self._put("seed", covered, given, batch.seeding)
            fresh = self._put("seed", covered, given, batch.seeding, some=batch.unmet)
            return fresh + self._upsert(covered, given, some=batch.met)

        return put

    def _reseed(self, covered: Range | strip.Piece, given: dict[str, Any]) -> int:
        return self._upsert(covered, {**given, **self._bounds.parameters()})

    def _upsert(self, covered: Range | strip.Piece, given: dict[str, Any], *, some: Some | None = None) -> int:
        written = self._put("reseed", covered, given, batch.reseeding, some=some)
        if self.source.births:
            written += self._put("take", covered, given, batch.taking, some=some)
        self._put("duplicates", covered, given, batch.noting_duplicates, some=some)
        return written

    def _put(
        self,
        name: str,
        covered: Range | strip.Piece,
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
        return batch.put(self.connection, self.source, statement, given)

    def _shape(self, covered: Range | strip.Piece) -> tuple[Hashable, Hashable]:
        return covered.shape, self._bounds.shape

    def _stager(self, error: OneroofError) -> Put:
        def put(covered: Range | strip.Piece, given: dict[str, Any]) -> int:
            who = {
                **self._bounds.parameters(),
                "worker": NAME,
                "source": self.name,
                "cursor": None,
                "keep": batch.FORGET,
                **describe(error),
            }
            statement = batch.staging(self._rows(covered, bare=True)).as_bytes(None)
            done = retries.stage(self.connection, self.source, batch.ask(self.source, statement, {**given, **who}))
            self._draft = replace(self.run, dlq=self.run.dlq + done.written)
            return done.written

        return put

    def _advance(
        self, here: Cursor, *, at: dict[str, Any], seen: int, written: int, watermark: tuple[str, str] | None
    ) -> None:
        # How many have which verdict is in the books; the summary has it when the sweep is through.
        self._draft = replace(self._draft, batch_count=self.run.batch_count + 1, rows_seen=self.run.rows_seen + seen)
        summary = {
            **self._draft.summary(),
            "scanned": here.events_seen + seen,
            "candidates_relevant": here.events_seen + seen,
            "failed": self._draft.dlq,
        }
        cursor.advance(self.connection, here, at=at, seen=seen, written=written, watermark=watermark, summary=summary)


Put = Callable[[Any, dict[str, Any]], int]
Some = Callable[[sql.Composed], sql.Composed]
