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

from oneroof import cursor, handoff, origin, retries, strip, window
from oneroof.ahead import BUSY_PAGES, Ahead
from oneroof.asking import Asking
from oneroof.batch import Applied, Ask
from oneroof.cursor import Cursor, Horizon
from oneroof.db import Connection, calling, forget_prepared, one, prepare, queries
from oneroof.errors import OneroofError
from oneroof.forgetting import Forgetting
from oneroof.known import Glance
from oneroof.lease import Lease
from oneroof.lull import Lull
from oneroof.retries import Retries
from oneroof.source import INVENTORY, REGISTER, Source
from oneroof.streak import Streak
from oneroof.strip import Piece
from oneroof.tail import FARTHEST, Bounds
from oneroof.telling import Telling
from oneroof.width import Width
from oneroof.window import At
from oneroof.worker import MOVED, NOTHING, Run, Step, fenced, isolating

NAME = "gov_handoff_intake"
BATCH = 5_000
SWEEP_INTERVAL = 10.0
# A pass may take one part in so many of the time, however long the table is.
SHARE = 20
# In a backlog, the batches of newest rows to one piece of the walk.
BACKLOG_BATCHES = 10
# How many remembered versions to forget at once, with and without news.
BUSY_PRUNE, PRUNE = 250, 5_000
# How far behind the latest row the fast lane looks for what commits late; the rest is the frontier's.
OVERLAP = "5 seconds"
# Of what a batch wrote, and of what is remembered, the planner does not know how much it is; nor of where rows lie, so
# that a plan for one piece of the walk is one for all.
COMPARING = {"enable_nestloop": "off", "enable_seqscan": "off"}
WALKING = {**COMPARING, "plan_cache_mode": "force_generic_plan"}
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
    _draft: Run = field(default_factory=Run, init=False)
    _asking: Asking = field(init=False)
    _width: Width = field(init=False)
    _ahead: Ahead = field(init=False)
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
    _pass_seconds: float = field(default=0.0, init=False)
    _glance: Glance = field(init=False)
    _lull: Lull = field(init=False)
    # The latest xid that is remembered; and that was before the walk, or by the fast lane since.
    _remembered: int | None = field(default=None, init=False)
    _met: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._width, self._telling = Width(most=self.batch), Telling(self.source)
        self._asking = Asking(self.source, NAME, with_own=self.at_once, effect=self.effect)
        self._ahead = Ahead(self._asking, self.batch, self.dial)
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
        # Where nobody waits for the newest rows they come when the pieces that were found are applied.
        walks_on = self.at_once and self._ahead.has_more if not self.pressed else is_free and not self.is_hot
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
        return isolating(
            self._ahead.wide,
            lambda: self._streak.hoping(lambda: self._fenced(self._frontier, planning=WALKING)),
            lambda e: self._fenced(lambda here: self._frontier(here, e)),
        )

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

        who = {**self._who(), "doing": f"tailing {self.name}"}
        try:
            step = fenced(self.connection, self.lease, drafted, **who, overlap=overlap, more=more, planning=planning)
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
        if answer is not None and not (left is not None and here.is_at(left) and not self._is_elsewhere(here, horizon)):
            raise _Unforeseen
        self._window, self._has_due = here.window_horizon is not None, here.has_due
        self._telling.is_due = here.has_untold
        self.calm = 0.0 if self._is_fast else max(0.0, self.sweep_interval - here.rested)
        if here.frontier is None and here.window_horizon is None:
            if here.phase == "reconciling":
                return self._open(here, horizon, phase="reconciling", full=True)
            return self._start(here, horizon)
        if self._is_elsewhere(here, horizon):
            return self._open(here, horizon, phase="reconciling", full=True)
        if self.at_once and self._is_fast and not (self._window or self.windows_closed) and self._due(here):
            # Where nobody waits for the newest rows the walk finds them with all others.
            return self._open(here, horizon, phase="incremental", full=False)
        at = self._glide(here)
        applied = self._newest(here, at, answer, poison)
        pruned = self._forgetting.go_on(self.connection, here, most=BUSY_PRUNE if self.pressed else PRUNE)
        if not self._window and self._due(here) and not self._is_still(here, horizon):
            self._open(here, horizon, phase="incremental", full=False)
        self._left = here if applied is not None and not self._window else None
        if applied is None or applied.read == 0:
            return MOVED if pruned or at != here.window_at or (self._window and not here.window_horizon) else NOTHING
        self.has_news = applied.read > applied.own
        return Step(seen=applied.read, written=applied.written, idle=False)

    def _is_elsewhere(self, here: Cursor, horizon: Horizon) -> bool:
        """Whether F is of another cluster, or so far behind that xids could be mistaken."""
        far = horizon.next - (here.frontier or horizon.next) > FARTHEST and not (here.window_at or {}).get("full")
        return far or here.cluster_identity != horizon.identity

    def _is_still(self, here: Cursor, horizon: Horizon) -> bool:
        """A small table without a fast lane, in which nothing is new, is passed over at once; where nothing was
        written, a pass can wait for a while.
        """
        ground = cursor.read_ground(self.connection, self.source)
        bounds = Bounds(frontier=here.frontier, horizon=None)
        known = not self._is_fast and ground.leaves == here.metadata.get("leaves")
        if known and strip.is_still(self.connection, self._asking.counting(here, bounds), blocks=ground.blocks):
            cursor.pass_over(self.connection, here, horizon)
            self._forgetting.begin(everything=False)
            self.windows_closed += 1
        elif not self._lull.lasts(ground, rested=here.rested):
            return False
        self.calm = 0.0 if self._is_fast else self.sweep_interval
        return True

    def _start(self, here: Cursor, horizon: Horizon) -> Step:
        """Where it begins; a register when it has been looked at once."""
        if self.source.source_kind == REGISTER:
            return self._open(here, horizon, phase="seeding", full=True)
        begins = origin.find(self.connection, self.source, horizon)
        if begins is None:
            return NOTHING
        cursor.start(self.connection, here, begins.frontier, identity=begins.identity, leaves=begins.leaves)
        return MOVED

    def _open(self, here: Cursor, horizon: Horizon, *, phase: str, full: bool) -> Step:
        ground = cursor.read_ground(self.connection, self.source)
        at, metadata = window.begin(here, ground, full=full), {"leaves": ground.leaves}
        self._lull.begin(ground)
        cursor.open_window(self.connection, here, horizon, phase=phase, at=at, metadata=metadata)
        self._window, self._is_ours, self._is_held_up, self._pass_seconds = True, True, False, 0.0
        self._met, self._telling.has_found = None, False
        return MOVED

    def _glide(self, here: Cursor) -> At | None:
        """While there is news the walk goes on over pages where nothing is new, in the turn of the newest rows; what is
        new there is a piece by itself.
        """
        at, began = here.window_at, time.monotonic()
        if at is None or not (self.pressed and self._is_fast) or self._is_held_up:
            return at
        ground = cursor.read_ground(self.connection, self.source)
        self._is_held_up = at["files"] != ground.files or window.is_over(at, ground)
        if self._is_held_up:
            return at
        bounds, last = window.bounds(here, at), window.reach(at, ground, pages=BUSY_PAGES)
        rows = strip.count(self.connection, self._asking.counting(here, bounds), first=at["tid"], last=last)
        self._is_held_up, self._pass_seconds = rows > 0, self._pass_seconds + time.monotonic() - began
        return at if rows else {**at, "tid": last}

    def _newest(
        self, here: Cursor, at: At | None, answer: TupleRow | None, poison: OneroofError | None
    ) -> Applied | None:
        look = self._glance
        if not self._is_fast:
            return None
        if self._overlap is not None:
            look.note(here.oldest)
        if look.since is None:
            (look.since,) = one(self.connection, queries("cursor")["since"], {**self._who(), "overlap": OVERLAP})
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
        return OVERLAP if self._is_fast and self._glance.is_noting else None

    @property
    def _is_fast(self) -> bool:
        """Whether there is a fast lane: without an index in the order of time it would read the table every time."""
        return self.source.timestamp_column is not None and self.source.in_index_order

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

        def apply(piece: Piece, *, beyond: int = 0) -> Applied:
            asked = self._asking.piece(here, found, piece, beyond=beyond, births=births, poison=poison)
            return retries.apply(self.connection, self.source, asked, poison=poison)

        piece = self._ahead.next(self.connection, here, at, ground, busy=busy, rehearse=apply)
        at = {**at, "tid": piece.last}
        # How long a pass takes is a matter of the table, not of what there was to do.
        self._pass_seconds, self._is_held_up = self._pass_seconds + time.monotonic() - began, False
        if piece.rows == 0:
            if window.is_over(at, ground):
                return self._close(here, at)
            cursor.place(self.connection, here, at)
            return MOVED
        self._met, self._telling.has_found = self._latest_remembered(here) if self._met is None else self._met, True
        done = apply(piece, beyond=self._met)
        self._account(here, done, poison=poison, at=at, full=at["full"])
        self._glance.beyond = self._remembered
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
        self._remembered = max([self._remembered or 0, *done.xids])
        self._streak.note(done.read, born=done.born == done.read)
        if done.read or at != here.window_at:
            # An inventory knows its rows: in a full pass those count that were written.
            counted = done.written if full and self.source.source_kind == INVENTORY else done.counted
            # What is staged failed, and what is looked at for the first time is no change yet.
            marked = 0 if poison or here.phase == "seeding" else done.written
            self._draft = self.run.after(counted, marked=marked, own=done.own, dlq=done.written if poison else 0)
            told: dict[str, Any] = {"watermark": done.watermark, "summary": self._draft.summary()}
            told |= {"seen": counted, "written": marked, "coalesced": done.coalesced}
            cursor.advance(self.connection, here, at=at, **told)

    def _due(self, here: Cursor) -> bool:
        if self.at_once and not self.windows_closed:
            return True
        if self._lull.is_known():
            return False
        return here.rested >= max(self.sweep_interval, self._pass_seconds * SHARE if self.sweep_interval else 0)

    def _who(self) -> dict[str, str]:
        return {"worker": NAME, "source": self.name}
