"""`gov_handoff_intake`: every change of every source, for ever after its first sweep (doc 32 §5, doc 39 §39.5).

Two lanes. The fast lane reads the newest rows by timestamp. The frontier lane is what completeness rests on: a pass
over the whole table by row headers, for every version from F on; at its end F := H, the horizon when it began. Whatever
either of them applies is remembered until F has passed it, so that each version is applied and counted once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar

from psycopg import errors as pg
from psycopg.rows import TupleRow

from oneroof import cursor, facts, handoff, origin, retries, strip, window
from oneroof.ahead import MANY_PAGES, Ahead
from oneroof.asking import COMPARING, WALKING, Asking
from oneroof.batch import Applied, Ask
from oneroof.beside import Beside
from oneroof.cursor import Cursor, Horizon
from oneroof.db import Connection, calling, forget_prepared, one, prepare, queries
from oneroof.errors import OneroofError
from oneroof.forgetting import Forgetting
from oneroof.known import OVERLAP, Glance
from oneroof.lease import Lease
from oneroof.lull import Lull
from oneroof.retries import Retries
from oneroof.source import INVENTORY, REGISTER, Source
from oneroof.streak import Streak
from oneroof.strip import Piece
from oneroof.telling import Telling
from oneroof.width import Width
from oneroof.window import At
from oneroof.worker import MOVED, NOTHING, Run, Step, fenced, isolating, sparing

NAME = "gov_handoff_intake"
BATCH = 5_000
SWEEP_INTERVAL = 10.0
# In a backlog, the batches of newest rows to one piece of the walk.
BACKLOG_BATCHES = 10
T = TypeVar("T")


class _Unforeseen(Exception):
    """The cursor is not where it was left: what was asked in one breath with reading it may be wrong."""


@dataclass(slots=True)
class HandoffIntake:
    """The intake of one source by one instance. `sweep_interval` is how long the frontier may rest; `at_once` means
    that the first window does not wait for it, and that what oneroof wrote itself is counted as it comes; `pressed`
    that somebody with news waits for the turn to end, and `is_hot` that it is this one; `hurried` that what was handed
    off is told at once; `dial` opens a second connection for a long walk. `has_news` says whether the last turn met
    any: what the walk finds was not waited for, and what oneroof wrote itself is none; `calm` for how many seconds
    there can be none.
    """

    connection: Connection
    source: Source
    lease: Lease
    batch: int = BATCH
    sweep_interval: float = SWEEP_INTERVAL
    at_once: bool = False
    effect: str | None = None
    hurried: bool = False
    dial: Callable[[], Connection] | None = None
    pressed: bool = False
    is_hot: bool = False
    has_news: bool = field(default=False, init=False)
    calm: float = field(default=0.0, init=False)
    windows_closed: int = field(default=0, init=False)
    run: Run = field(default_factory=Run, init=False)
    _who: dict[str, str] = field(init=False)
    _draft: Run = field(default_factory=Run, init=False)
    _asking: Asking = field(init=False)
    _width: Width = field(init=False)
    _ahead: Ahead = field(init=False)
    _beside: Beside = field(init=False)
    _retries: Retries = field(init=False)
    _window: bool = field(default=False, init=False)
    _is_ours: bool = field(default=False, init=False)
    _has_due: bool = field(default=False, init=False)
    _telling: Telling = field(init=False)
    _streak: Streak = field(default_factory=Streak, init=False)
    # The cursor as it was left, if nothing is under way but looking for the newest rows.
    _left: Cursor | None = field(default=None, init=False)
    _forgetting: Forgetting = field(default_factory=Forgetting, init=False)
    _is_held_up: bool = field(default=False, init=False)
    _turn: int = field(default=0, init=False)
    _batches: int = field(default=0, init=False)
    _glance: Glance = field(init=False)
    _lull: Lull = field(init=False)
    # The latest xid that is remembered; and that was before the walk, or by the fast lane since.
    _remembered: int | None = field(default=None, init=False)
    _met: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._width, self._telling = Width(most=self.batch), Telling(self.source)
        self._asking = Asking(self.source, NAME, with_own=self.at_once, effect=self.effect)
        pages, learns = MANY_PAGES if self.at_once else strip.PAGES, self.source.source_kind == INVENTORY
        self._ahead = Ahead(self._asking, self.batch, self.dial, pages, learns=learns and self.effect is None)
        self._who = {"worker": NAME, "source": self.name, "doing": f"tailing {self.name}"}
        self._beside = Beside(self.lease, self._ahead, {**self._who, "planning": WALKING})
        self._glance = Glance(passes_over=self.source.own_column is not None and not self.at_once)
        self._lull = Lull(self.sweep_interval)
        self._retries = Retries(NAME, self.source, self.name, Width(most=self.batch), anew=False)

    @property
    def name(self) -> str:
        return self.source.source_name

    def run_once(self) -> Step:
        """The newest rows, then a piece of the frontier's window if one is open, then what failed before and is due."""
        self._turn += 1
        # While there is news a turn is short: the walk has every other one, if it is held up or the news is another's.
        is_free = not self.pressed or (self._turn % 2 == 0 and (self._is_held_up or not self.is_hot))
        self.has_news = False
        # Where nobody waits for the newest rows they come when the walk is over.
        walks_on = self.at_once if not self.pressed else is_free and not self.is_hot
        fast = NOTHING if self._window and walks_on else self._newest_rows()
        self._batches = self._batches + 1 if fast.seen >= self._width.now else 0
        slow = self._piece() if self._window and is_free and self._batches % BACKLOG_BATCHES == 0 else NOTHING
        again = self._retries.run_once(self.connection, self.lease, due=self._has_due)
        idle = fast.idle and slow.idle
        everything = self.hurried or (self.at_once and idle and again.idle and not self._window)
        told = self._tell(self._telling.which(everything=everything, trying=not again.idle))
        if idle:
            # A window that waits for its turn is work left.
            return MOVED if (self._window or told) and again.idle else again
        return Step(fast.seen + slow.seen, fast.written + slow.written, idle=False)

    def _tell(self, which: str | None) -> bool:
        """Tell what logs and registers handed off in such windows; of objects where nobody else would."""
        if which is None:
            return False
        return self._fenced(lambda _: handoff.tell(self.connection, self.source, which=which, most=self.batch)) > 0

    def _newest_rows(self) -> Step:
        return isolating(
            self._width,
            lambda: self._streak.hoping(self._next_rows),
            lambda e: self._fenced(lambda here: self._fast(here, poison=e), overlap=self._overlap),
        )

    def _next_rows(self) -> Step:
        """In one breath with the fence and the cursor, if that was where it was left the last time."""
        if self._left is not None:
            asked = self._ask(self._left)
            more = calling(self.connection, asked.statement, asked.given)
            if more is not None:
                try:
                    return self._fenced(self._fast, overlap=self._overlap, more=more)
                except _Unforeseen:
                    pass
                except OneroofError as error:
                    if not isinstance(error.__cause__, pg.InvalidSqlStatementName):
                        raise
                    forget_prepared(self.connection)
        return self._fenced(self._fast, overlap=self._overlap)

    def _piece(self) -> Step:
        step = isolating(
            self._ahead.wide,
            lambda: self._streak.hoping(self._pieces),
            lambda e: self._fenced(lambda here: self._frontier(here, e)),
        )
        # Facts that nobody has met are judged before any row of them is applied: each is then written once.
        if tids := self._ahead.take_unknown():
            sparing(lambda: self._fenced(lambda _: facts.learn_at(self.connection, self.source, tids), planning={}))
        return step

    def _pieces(self) -> Step:
        """A piece, and perhaps the one behind it, which another has applied meanwhile."""
        try:
            step = self._fenced(self._frontier, planning=WALKING)
        finally:
            kept = self._beside.end()
        if kept is None:
            return step
        self.run = kept.run
        self._note(kept.done, walking=True)
        return Step(seen=step.seen + kept.done.read, written=step.written + kept.done.written, idle=False)

    def _fenced(
        self,
        piece: Callable[..., T],
        *,
        overlap: str | None = None,
        more: str | None = None,
        planning: dict[str, str] = COMPARING,
    ) -> T:
        before = self._glance

        def drafted(here: Cursor, *answer: TupleRow) -> T:
            # What an attempt has changed that was not kept counts for nothing.
            self._draft, self._glance = self.run, copy(before)
            return piece(here, *answer)

        how: dict[str, Any] = {**self._who, "overlap": overlap, "more": more, "planning": planning}
        try:
            step = fenced(self.connection, self.lease, drafted, **how)
        except BaseException:
            # Whether it was kept is not known; nor is then what the lane knew.
            self._glance, self._left, self._met = before.in_doubt(self._remembered), None, None
            raise
        self.run = self._draft
        return step

    def _fast(self, here: Cursor, answer: TupleRow | None = None, *, poison: OneroofError | None = None) -> Step:
        """Whatever is new by its timestamp; and see whether a window is open or due. An answer is that of an ask which
        went before, and counts only if the cursor is where it was.
        """
        horizon, left, self._left = cursor.read_horizon(self.connection, here), self._left, None
        is_elsewhere = window.is_elsewhere(here, horizon)
        if answer is not None and (left is None or not here.is_at(left) or is_elsewhere):
            raise _Unforeseen
        self._window, self._has_due = here.window_horizon is not None, here.has_due
        self._telling.is_due = here.has_untold
        self.calm = 0.0 if self.source.is_fast else max(0.0, self.sweep_interval - here.rested)
        if here.frontier is None and here.window_horizon is None:
            if here.phase == "reconciling":
                return self._open(here, horizon, phase="reconciling", full=True)
            return self._start(here, horizon)
        if is_elsewhere:
            return self._open(here, horizon, phase="reconciling", full=True)
        if self.at_once and self.source.is_fast and not (self._window or self.windows_closed) and self._due(here):
            # Where nobody waits for the newest rows the walk finds them with all others.
            return self._open(here, horizon, phase="incremental", full=False)
        at = self._glide(here)
        applied = self._newest(here, at, answer, poison)
        pruned = self._forgetting.go_on(self.connection, here, busy=self.pressed)
        if not self._window and self._due(here) and not self._is_still(here, horizon):
            self._open(here, horizon, phase="incremental", full=False)
        self._left = here if applied is not None and not self._window else None
        if applied is None or applied.read == 0:
            return MOVED if pruned or at != here.window_at or (self._window and not here.window_horizon) else NOTHING
        self.has_news = applied.read > applied.own
        return Step(seen=applied.read, written=applied.written, idle=False)

    def _is_still(self, here: Cursor, horizon: Horizon) -> bool:
        """A small table without a fast lane, in which nothing is new, is passed over at once; where nothing was
        written, a pass can wait for a while.
        """
        ground = cursor.read_ground(self.connection, self.source)
        if not self.source.is_fast and self._ahead.is_still(self.connection, here, ground):
            cursor.pass_over(self.connection, here, horizon)
            self._forgetting.begin(everything=False)
            self.windows_closed += 1
        elif not self._lull.lasts(ground, rested=here.rested):
            return False
        self.calm = 0.0 if self.source.is_fast else self.sweep_interval
        return True

    def _start(self, here: Cursor, horizon: Horizon) -> Step:
        """Where it begins; a register when it has been looked at once."""
        if self.source.source_kind == REGISTER:
            return self._open(here, horizon, phase="seeding", full=True)
        return MOVED if origin.start(self.connection, self.source, here, horizon) else NOTHING

    def _open(self, here: Cursor, horizon: Horizon, *, phase: str, full: bool) -> Step:
        ground = cursor.read_ground(self.connection, self.source)
        at, metadata = window.begin(here, ground, full=full), {"leaves": ground.leaves}
        self._lull.begin(ground)
        self._ahead.expect(ground)
        cursor.open_window(self.connection, here, horizon, phase=phase, at=at, metadata=metadata)
        self._window, self._is_ours, self._is_held_up = True, True, False
        self._met, self._telling.has_found = None, False
        return MOVED

    def _glide(self, here: Cursor) -> At | None:
        """While there is news the walk goes on over pages where nothing is new, in the turn of the newest rows; what is
        new there is a piece by itself.
        """
        at, began = here.window_at, time.monotonic()
        if at is None or not (self.pressed and self.source.is_fast) or self._is_held_up:
            return at
        further = self._ahead.glide(self.connection, here, at)
        self._is_held_up, self._lull.seconds = further is None, self._lull.seconds + time.monotonic() - began
        return further or at

    def _newest(
        self, here: Cursor, at: At | None, answer: TupleRow | None, poison: OneroofError | None
    ) -> Applied | None:
        look = self._glance
        if not self.source.is_fast:
            return None
        if self._overlap is not None:
            look.note(here.oldest)
        if look.since is None:
            (look.since,) = one(self.connection, queries("cursor")["since"], {**self._who, "overlap": OVERLAP})
        if answer is None:
            asked = self._ask(here, poison)
            if poison is None:
                prepare(self.connection, asked.statement, asked.given)
            done = retries.apply(self.connection, self.source, asked, poison=poison)
        else:
            done = Applied(*answer)
        size = 1 if poison else self._width.now
        self._telling.is_full = done.read == size
        self._account(here, done, poison=poison, at=at, full=False)
        self._note(done, walking=False)
        self._met = None if self._met is None else max([self._met, *done.xids])
        mark = done.mark(self.source) if done.read == size else None
        look.go_on(mark, read=done.read, is_full=done.read == size, horizon=here.horizon, xids=done.xids)
        return done

    def _ask(self, here: Cursor, poison: OneroofError | None = None) -> Ask:
        look, size = self._glance, 1 if poison else self._width.now
        look.begin(beyond=self._latest_remembered(here))
        return self._asking.newest(here, look, size=size, births=self._streak.lasts(), poison=poison)

    @property
    def _overlap(self) -> str | None:
        """How far back to look for the oldest transaction, where the fast lane has to note when it began."""
        return OVERLAP if self.source.is_fast and self._glance.is_noting else None

    def _latest_remembered(self, here: Cursor) -> int:
        """Nobody but the holder of the lease adds to what is remembered; so after the first time it is known here."""
        if self._remembered is None:
            (self._remembered,) = one(self.connection, queries("cursor")["remembered"], {"cursor": here.cursor_id})
        return self._remembered or 0

    def _frontier(self, here: Cursor, poison: OneroofError | None = None) -> Step:
        """The next piece of the window, which closes at the end of the table; what is appended then is not of it."""
        began = time.monotonic()
        if here.window_horizon is None:
            self._window = self._telling.has_found = False
            return NOTHING
        ground = cursor.read_ground(self.connection, self.source)
        at = here.window_at or {}
        if at["files"] != ground.files:
            cursor.place(self.connection, here, window.anew(here, at, ground), metadata={"leaves": ground.leaves})
            self._met = None
            return MOVED
        if window.is_over(at, ground):
            return self._close(here, at)
        busy, births, found = self.pressed or self._batches > 0, self._streak.lasts(), at

        def ask(piece: Piece, beyond: int) -> Ask:
            return self._asking.piece(here, found, piece, beyond=beyond, births=births, poison=poison)

        def apply(piece: Piece, beyond: int = 0) -> Applied:
            return retries.apply(self.connection, self.source, ask(piece, beyond), poison=poison)

        def rehearse(nothing: Piece) -> None:
            self._beside.rehearse(ask(nothing, 0))
            apply(nothing)

        piece = self._ahead.next(self.connection, here, at, ground, busy=busy, rehearse=rehearse)
        if self._ahead.unknown:
            self._ahead.again(piece)
            return MOVED
        at = {**at, "tid": piece.last}
        self._lull.seconds, self._is_held_up = self._lull.seconds + time.monotonic() - began, False
        if piece.rows == 0:
            if window.is_over(at, ground):
                return self._close(here, at)
            cursor.place(self.connection, here, at)
            return MOVED
        self._met, self._telling.has_found = self._latest_remembered(here) if self._met is None else self._met, True
        if not (poison or at["full"]):
            after: dict[str, Any] = {"after": at, "horizon": here.window_horizon, "account": lambda: self._draft}
            self._beside.begin(piece, lambda other: ask(other, self._met or 0), **after)
        done = apply(piece, self._met)
        self._account(here, done, poison=poison, at=at, full=at["full"])
        self._note(done, walking=True)
        return Step(seen=done.read, written=done.written, idle=False)

    def _close(self, here: Cursor, at: At) -> Step:
        cursor.close_window(self.connection, here, phase="incremental")
        self._forgetting.begin(everything=bool(at["full"] or at["fresh"]))
        self._retries.look_again()
        self._window = self._telling.has_found = False
        # One that somebody before us had opened may have passed by what changed since.
        self.windows_closed += self._is_ours
        return MOVED

    def _account(self, here: Cursor, done: Applied, *, poison: OneroofError | None, at: At | None, full: bool) -> None:
        if done.read or at != here.window_at:
            # An inventory knows its rows: in a full pass those count that were written.
            counted = done.written if full and self.source.source_kind == INVENTORY else done.counted
            # What is staged failed, and what is looked at for the first time is no change yet.
            marked = 0 if poison or here.phase == "seeding" else done.written
            self._draft = self.run.after(counted, marked=marked, own=done.own, dlq=done.written if poison else 0)
            told: dict[str, Any] = {"watermark": done.watermark, "summary": self._draft.summary()}
            told |= {"seen": counted, "written": marked, "coalesced": done.coalesced}
            cursor.advance(self.connection, here, at=at, **told)

    def _note(self, done: Applied, *, walking: bool) -> None:
        self._remembered = max([self._remembered or 0, *done.xids])
        self._streak.note(done.read, born=done.born == done.read)
        if walking:
            self._glance.beyond = self._remembered

    def _due(self, here: Cursor) -> bool:
        return (self.at_once and not self.windows_closed) or self._lull.is_due(rested=here.rested)
