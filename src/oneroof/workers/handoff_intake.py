"""`gov_handoff_intake`: every change of every source, for ever after its first sweep (doc 32 §5, doc 39 §39.5).

Each call takes a step of the frontier pass, if one is due, then reads the newest rows by timestamp, then tries failed
items that are due, then emits the coalescing windows that are over. The frontier pass is what completeness rests on;
what either reader applies is remembered until F has passed it, so that each version is applied and counted once. Of a
small table one step of the pass is all of it: its newest rows are then not asked for.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from oneroof.database.connection import Connection
from oneroof.failures.batch_size import Width
from oneroof.fence.cursor import Cursor
from oneroof.fence.fenced_batch import Batch, run_fenced
from oneroof.fence.lease import Lease
from oneroof.fence.step import MOVED, NOTHING, Account, Run, Step
from oneroof.intake import change_marks
from oneroof.intake.coalescing import Telling
from oneroof.intake.frontier_pass import FrontierPass
from oneroof.intake.newest_rows import NewestRows
from oneroof.intake.retry_failed import Retries
from oneroof.sources.source import Source
from oneroof.tail import frontier_window
from oneroof.tail.forgetting import OpenSet
from oneroof.tail.pass_schedule import Lull

NAME = change_marks.WORKER
BATCH = 5_000
SWEEP_INTERVAL = 10.0
# Milliseconds of a step of the frontier pass while there are new rows, and while there are none.
BUSY_MS, CALM_MS = 20, 200


@dataclass(slots=True)
class HandoffIntake:
    """The intake of one source by one instance. `sweep_interval` is how long the frontier may rest; `at_once` means
    that the first pass does not wait for it, and that what oneroof wrote itself is counted as it comes; `hurried` that
    coalescing windows do not wait for their end; `effect` stands in for what is done with rows.
    """

    connection: Connection
    source: Source
    lease: Lease
    batch: int = BATCH
    sweep_interval: float = SWEEP_INTERVAL
    at_once: bool = False
    hurried: bool = False
    effect: str | None = None
    newest: NewestRows = field(init=False)
    frontier: FrontierPass = field(init=False)
    retries: Retries = field(init=False)
    _telling: Telling = field(init=False)
    # The cursor as the last step read it, when that was, and whether that step found newest rows.
    _here: Cursor | None = field(default=None, init=False)
    _read_at: float = field(default=0.0, init=False)
    _is_busy: bool = field(default=False, init=False)
    # The frontier at the last look.
    _passed: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        open_set, account = OpenSet(), Account()
        lull = Lull(self.sweep_interval, at_once=self.at_once)
        self.newest = NewestRows(self.source, self.batch, open_set, account, with_own=self.at_once, effect=self.effect)
        self.frontier = FrontierPass(self.source, self.batch, open_set, account, lull, effect=self.effect)
        self.retries = Retries(NAME, self.source, self.name, Width(most=self.batch), anew=False)
        self._telling = Telling(self.source)

    @property
    def name(self) -> str:
        return self.source.source_name

    @property
    def run(self) -> Run:
        """The account of this run."""
        return self.newest.account.run

    @property
    def windows_closed(self) -> int:
        """Passes that this process has begun and ended."""
        return self.frontier.lull.passes

    def run_once(self) -> Step:
        """A step of the frontier pass, the newest rows, failed items that are due, windows that are over."""
        frontier = newest = NOTHING
        here, is_full, has_stepped = self._here, False, False
        if here is None or self.frontier.is_wanted(here, ago=time.monotonic() - self._read_at):
            has_stepped = True
            budget = BUSY_MS if self._is_busy else CALM_MS
            frontier = self.frontier.run_once(self.connection, self.lease, budget_ms=budget)
            here = self.frontier.here
            self.newest.look_up_to(self.frontier.latest)
        if here is None:
            # The very first batch failed, and is halved now.
            return MOVED
        if not frontier_window.has_begun(here):
            return frontier
        # A pass that this step has begun and ended was over every row: there are no newer ones.
        self._is_busy = False
        if self.source.is_fast and not self.frontier.is_whole:
            newest = self.newest.run_once(self.connection, self.lease)
            is_full, self._is_busy = self.newest.is_full, newest.seen > 0
            here = self.newest.here or here
        self.frontier.is_whole = False
        self._here, self._read_at = here, time.monotonic()
        self._look_again(here)
        failed = self.retries.run_once(self.connection, self.lease, due=here.has_due)
        # What the newest rows were read with may say that a pass is wanted after all: the server may be another one.
        is_wanted = not has_stepped and self.frontier.is_wanted(here)
        is_idle = newest.idle and frontier.idle and failed.idle and not is_wanted
        is_reading = is_full or self.frontier.has_found or not failed.idle
        told = self._tell(here, is_reading=is_reading, is_idle=is_idle)
        if is_idle and not told:
            rest = 0.0 if self.source.is_fast else self.frontier.lull.rest(rested=here.rested)
            return Step(seen=0, written=0, idle=True, rest=rest)
        written = newest.written + frontier.written + failed.written
        return Step(seen=newest.seen + frontier.seen, written=written, idle=False)

    def _look_again(self, here: Cursor) -> None:
        """Where the frontier has moved past versions that were applied, later ones of failed rows may be among them."""
        passed, latest = self._passed, self.frontier.open_set.latest
        if here.frontier != passed:
            if passed is None or latest is None or latest >= min(passed, here.frontier or 0):
                self.retries.look_again()
            self._passed = here.frontier

    def _tell(self, here: Cursor, *, is_reading: bool, is_idle: bool) -> bool:
        """Emit what logs and registers handed off in such windows."""
        everything = self.hurried or (self.at_once and is_idle)
        which = self._telling.which(everything=everything, is_due=here.has_untold, is_reading=is_reading)
        if which is None:
            return False

        def tell(batch: Batch) -> int:
            return change_marks.tell(batch.connection, self.source, which=which, most=self.batch)

        doing = f"tailing {self.name}"
        return run_fenced(self.connection, self.lease, tell, worker=NAME, source=self.name, doing=doing) > 0
