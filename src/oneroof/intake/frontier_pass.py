"""The frontier pass: over a whole table by row headers, for every version from F on
(docs/explanation/tail/frontier.md).

Completeness rests on it. A window is one pass from F to H, the horizon when it began; each step passes a range of pages
in one transaction, applies what was not seen there, and keeps its place; at the end of the table F := H (doc 39 §39.5).
A range is as long as fits into the time that the caller gives.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from psycopg import sql

from oneroof.candidates import apply_batch
from oneroof.candidates.apply_batch import COMPARING, EVERY, ROWS, UNWRITTEN, Applied, Ask, Statements
from oneroof.candidates.streak import Streak
from oneroof.database.connection import Connection
from oneroof.errors import OneroofError
from oneroof.failures.batch_size import Width
from oneroof.failures.error_kinds import describe
from oneroof.fence import cursor
from oneroof.fence.cursor import Cursor, Pruned
from oneroof.fence.fenced_batch import Batch, run_fenced
from oneroof.fence.lease import Lease
from oneroof.fence.step import MOVED, NOTHING, Account, Run, Step, isolating
from oneroof.intake import change_marks, retry_failed
from oneroof.sources.source import INVENTORY, REGISTER, Source
from oneroof.tail import frontier_window, header_queries, page_ranges, starting_point, table_files
from oneroof.tail.forgetting import OpenSet
from oneroof.tail.frontier_window import At
from oneroof.tail.page_ranges import Piece, Question
from oneroof.tail.pass_schedule import Lull
from oneroof.tail.row_queries import SLOTS
from oneroof.tail.table_files import Ground

# A range has so many pages at least and at most, whatever the last one took.
FEWEST, MOST = 16, 16_384
# A table of more pages, or with newest rows to read, is not passed over while the server has counted no write.
SMALL = 256
# So many remembered versions are forgotten in a millisecond.
FORGOTTEN = 25
# Where rows lie the planner does not know, so that a plan for one range is one for all.
PLANNING = {**COMPARING, "plan_cache_mode": "force_generic_plan"}


@dataclass(frozen=True, slots=True)
class _Passed:
    """What one transaction has done: a pass begun, a range passed and rows applied, a pass ended, or versions
    forgotten.
    """

    here: Cursor
    moved: bool = False
    begun: Ground | None = None
    piece: Piece | None = None
    seconds: float = 0.0
    done: Applied | None = None
    run: Run | None = None
    ended: At | None = None
    forgotten: Pruned | None = None


@dataclass(slots=True)
class FrontierPass:
    """The passes over one source; `effect` stands in for what is done with rows."""

    source: Source
    batch: int
    open_set: OpenSet
    account: Account
    lull: Lull
    effect: str | None = None
    # The cursor as the last step read it, and whether the pass that is under way has found rows.
    here: Cursor | None = field(default=None, init=False)
    has_found: bool = field(default=False, init=False)
    # The latest xid of which this reader has applied a version.
    latest: int = field(default=0, init=False)
    # Whether the last step has begun a pass and ended it.
    is_whole: bool = field(default=False, init=False)
    streak: Streak = field(default_factory=Streak, init=False)
    _width: Width = field(init=False)
    _pages_per_ms: float = field(default=MOST / 200, init=False)
    _statements: Statements = field(default_factory=Statements, init=False)

    def __post_init__(self) -> None:
        self._width = Width(most=MOST * SLOTS)

    def is_wanted(self, here: Cursor, *, ago: float = 0.0) -> bool:
        """Whether there is something to do, by the cursor as it was read so many seconds ago."""
        if here.window_horizon is not None or not frontier_window.has_begun(here) or frontier_window.is_elsewhere(here):
            return True
        return self.open_set.has_passed or self.lull.is_due(rested=here.rested + ago)

    def run_once(self, connection: Connection, held: Lease, *, budget_ms: float) -> Step:
        """One step within the time that is given; a range that holds poison is halved."""
        return isolating(
            self._width,
            lambda: self.streak.hoping(lambda: self._step(connection, held, budget_ms)),
            lambda error: self._step(connection, held, budget_ms, poison=error),
        )

    def _step(
        self, connection: Connection, held: Lease, budget_ms: float, *, poison: OneroofError | None = None
    ) -> Step:
        began, name = time.monotonic(), self.source.source_name
        pages = min(MOST, max(FEWEST, int(self._pages_per_ms * budget_ms)))
        most = max(1, int(FORGOTTEN * budget_ms))
        try:
            passed = run_fenced(
                connection,
                held,
                lambda batch: self._next(batch, pages=pages, most=most, poison=poison),
                worker=change_marks.WORKER,
                source=name,
                doing=f"tailing {name}",
                planning=PLANNING,
            )
        except BaseException:
            # Whether the step was kept is not known; nor is then what is remembered.
            self.open_set.latest = None
            raise
        return self._note(passed, elapsed_ms=1000 * (time.monotonic() - began), most=most)

    def _note(self, passed: _Passed, *, elapsed_ms: float, most: int) -> Step:
        """What was committed is known from here on."""
        self.here, done = passed.here, passed.done
        if passed.begun is not None:
            self.lull.begin(passed.begun)
            self.has_found = False
        if (piece := passed.piece) is not None:
            self.lull.seconds += passed.seconds
            # The last range of a table is as short as it is.
            if passed.ended is None:
                self._pages_per_ms = max(1, (piece.last - piece.first) // SLOTS) / max(elapsed_ms, 0.1)
        if done is not None and passed.run is not None:
            self.has_found, self.account.run = True, passed.run
            self.open_set.add(done.xids)
            self.latest = max([self.latest, *done.xids])
            self.streak.note(done.read, born=done.born == done.read)
        if (gone := passed.forgotten) is not None:
            self.open_set.forgotten(gone, most=most, frontier=passed.here.frontier or 0)
        has_moved = passed.moved
        if passed.ended is not None:
            self.is_whole = passed.begun is not None
            self.lull.end()
            self.here = replace(passed.here, frontier=passed.here.window_horizon, window_horizon=None, rested=0.0)
            self.open_set.pass_frontier(everything=bool(passed.ended["full"] or passed.ended["fresh"]))
            # A pass that has found nothing leaves nothing to do, but for what can be forgotten now.
            has_moved, self.has_found = self.has_found or self.open_set.has_passed, False
        if done is not None:
            return Step(seen=done.read, written=done.written, idle=False)
        return MOVED if has_moved else NOTHING

    def _next(self, batch: Batch, *, pages: int, most: int, poison: OneroofError | None) -> _Passed:
        here, connection = batch.cursor, batch.connection
        if frontier_window.is_elsewhere(here) or not frontier_window.has_begun(here):
            return self._begin(batch, pages=pages, poison=poison)
        if here.window_horizon is not None:
            return self._go_on(batch, here, pages=pages, poison=poison)
        gone = self.open_set.forget(connection, here, most=most)
        if gone is not None and gone.gone + gone.spans:
            return _Passed(here, moved=True, forgotten=gone)
        return replace(self._begin(batch, pages=pages, poison=poison), forgotten=gone)

    def _begin(self, batch: Batch, *, pages: int, poison: OneroofError | None) -> _Passed:
        """Open a window, if it is time for one. Where F is of another cluster, or there is none, it is a full pass."""
        here, connection = batch.cursor, batch.connection
        is_full = frontier_window.is_elsewhere(here) if frontier_window.has_begun(here) else here.phase == "reconciling"
        is_first = not frontier_window.has_begun(here) and not is_full
        if is_first and self.source.source_kind != REGISTER:
            return _Passed(here, moved=starting_point.start(connection, self.source, here))
        if not (is_full or is_first or self.lull.is_due(rested=here.rested)):
            return _Passed(here)
        ground = table_files.read_ground(connection, self.source)
        is_short = ground.blocks <= SMALL and not self.source.is_fast
        if not (is_full or is_first or is_short) and self.lull.lasts(ground, rested=here.rested):
            return _Passed(here)
        phase = "seeding" if is_first else "reconciling" if is_full else "incremental"
        at = frontier_window.begin(here, ground, full=is_full or is_first)
        frontier = here.frontier if here.cluster_identity == here.identity else None
        opened = replace(here, window_horizon=here.horizon, window_at=at, phase=phase, frontier=frontier)
        return replace(self._pass(batch, opened, ground, pages=pages, poison=poison, is_new=True), begun=ground)

    def _go_on(self, batch: Batch, here: Cursor, *, pages: int, poison: OneroofError | None) -> _Passed:
        ground, at = table_files.read_ground(batch.connection, self.source), here.window_at or {}
        if at["files"] != ground.files:
            cursor.place(
                batch.connection, here, frontier_window.anew(here, at, ground), metadata={"leaves": ground.leaves}
            )
            return _Passed(here, moved=True)
        return self._pass(batch, here, ground, pages=pages, poison=poison, is_new=False)

    def _pass(
        self, batch: Batch, here: Cursor, ground: Ground, *, pages: int, poison: OneroofError | None, is_new: bool
    ) -> _Passed:
        """The next range, which ends where a batch of rows does; at the end of the table the window closes. What is
        appended then is not of it.
        """
        connection, at, began = batch.connection, here.window_at or {}, time.monotonic()
        piece = self._find(connection, here, at, ground, pages=pages)
        passed = _Passed(here, moved=True, piece=piece, seconds=time.monotonic() - began)
        at = {**at, "tid": piece.last}
        is_over = frontier_window.is_over(at, ground)
        if piece.rows == 0:
            self._place(batch, here, at, ground, is_new=is_new, is_over=is_over)
        else:
            if is_new:
                self._open(batch, here, ground)
            done = retry_failed.apply(
                connection, self.source, self._ask(here, at, piece, connection, poison), poison=poison
            )
            passed = replace(passed, done=done, run=self._advance(batch, here, at, done, poison=poison))
            if is_over:
                batch.flush()
                cursor.close_window(connection, here, phase="incremental")
        return replace(passed, ended=at if is_over else None)

    def _find(self, connection: Connection, here: Cursor, at: At, ground: Ground, *, pages: int) -> Piece:
        first, bounds = at["tid"], frontier_window.bounds(here, at)
        last = min(first + self._width.now, frontier_window.reach(at, ground, pages=pages))
        if last <= first:
            return Piece(first, first, rows=0)
        statement = self._statements.get(
            "find", bounds.shape, compose=lambda: header_queries.tid_found(self.source, bounds)
        )
        finding = Question(statement, {**bounds.parameters(), "cursor": here.cursor_id})
        piece = page_ranges.find_piece(connection, finding, first=first, last=last, most=self.batch)
        if piece.rows:
            # Half of it, where it fails.
            self._width.now = piece.last - piece.first
        return piece

    def _place(self, batch: Batch, here: Cursor, at: At, ground: Ground, *, is_new: bool, is_over: bool) -> None:
        """Keep the place behind a range in which nothing is new. A table in which nothing is new at all is passed over
        in one statement.
        """
        connection, leaves = batch.connection, {"leaves": ground.leaves}
        if is_new and is_over and not at["full"]:
            cursor.pass_over(connection, batch.cursor, metadata=leaves)
            return
        if is_new:
            self._open(batch, here, ground)
        if is_over:
            cursor.close_window(connection, here, phase="incremental")
        else:
            cursor.place(connection, here, at)

    def _open(self, batch: Batch, here: Cursor, ground: Ground) -> None:
        opening: dict[str, Any] = {"phase": here.phase, "at": here.window_at, "metadata": {"leaves": ground.leaves}}
        cursor.open_window(batch.connection, batch.cursor, **opening)

    def _advance(self, batch: Batch, here: Cursor, at: At, done: Applied, *, poison: OneroofError | None) -> Run:
        # An inventory knows its rows: in a full pass those count that were written.
        counted = done.written if at["full"] and self.source.source_kind == INVENTORY else done.counted
        # What is staged failed, and what is looked at for the first time is no change yet.
        marked = 0 if poison or here.phase == "seeding" else done.written
        run = self.account.run.after(counted, marked=marked, own=done.own, dlq=done.written if poison else 0)
        told: dict[str, Any] = {"seen": counted, "written": marked, "coalesced": done.coalesced}
        batch.advance(at=at, watermark=done.watermark, summary=run.summary(), **told)
        return run

    def _ask(self, here: Cursor, at: At, piece: Piece, connection: Connection, poison: OneroofError | None) -> Ask:
        bare, full, first, bounds = (
            poison is not None,
            at["full"],
            here.phase == "seeding",
            frontier_window.bounds(here, at),
        )
        births = self.streak.lasts()
        # What is written from a row of an inventory says of which version.
        is_written = self.source.source_kind == INVENTORY and not (bare or full or self.effect)
        anew = is_written and at.get("again", False)

        def compose() -> sql.Composed:
            rows = header_queries.tid_rows(self.source, bounds, bare=bare, written=anew)
            counts = change_marks.NOTHING if first else change_marks.unread(self.source) if full else EVERY
            memory = UNWRITTEN if is_written else ROWS
            if bare:
                return apply_batch.staging(rows, counts=counts, memory=memory)
            how = change_marks.BORN if births else change_marks.SEEN if first else None
            return change_marks.applying(self.source, rows, how=how, effect=self.effect, counts=counts, memory=memory)

        statement = self._statements.get("rows", bounds.shape, bare, full, first, births, anew, compose=compose)
        given: dict[str, Any] = {**bounds.parameters(), **piece.parameters(), "past": at.get("past")}
        # A full pass may be over a million rows that change nothing; of those below H it needs no memory either.
        given |= {"keep": here.window_horizon if full or is_written else 0}
        given |= {"beyond": self.open_set.read(connection, here)}
        given |= {"worker": change_marks.WORKER, "source": here.source_name, "cursor": here.cursor_id}
        given |= {"again": full, "started": here.metadata.get("started")}
        given |= {} if poison is None else describe(poison)
        return apply_batch.ask(self.source, statement, given, prepare=None if bare else True)
