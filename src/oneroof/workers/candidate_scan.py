"""`gov_candidate_scan`: the verdict of whatever is dirty or out of date, and of nothing else (doc 31 §3, §7 and §8).

A change of one object is one object's affair; a change of a class's policy that of its members; a new ruleset that of
what its changed rules can say otherwise of. What classes inherit is looked at again every so often, so that a decision,
an owner or an exception counts whoever recorded it, and also when its time is over.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from oneroof.database.connection import Connection
from oneroof.errors import OneroofError
from oneroof.failures import error_kinds
from oneroof.failures.batch_size import Width
from oneroof.fence.cursor import Cursor
from oneroof.fence.fenced_batch import Batch, run_fenced
from oneroof.fence.lease import Lease
from oneroof.fence.step import MOVED, NOTHING, Run, Step
from oneroof.findings import counting
from oneroof.judgement import judgements
from oneroof.signals import emission
from oneroof.sources.source import Source

NAME = "gov_candidate_scan"
COMPLETED = ("governance.candidate.scan_completed", "governance.coverage.scan_completed")
BATCH = 5_000
SWEEP_INTERVAL = 10.0
# How many findings to tell in one transaction.
FINDINGS = 200
# Counting them may take one part in so many of the time.
SHARE = 20
# In a storm: how many marks of groups to take at once, and the seconds in which other work has its turn.
MARKS, THROTTLE = 10, 0.5
# Seconds for which findings wait for verdicts that are about to change, and between two looks.
PATIENCE, REST = 5.0, 0.25


@dataclass(slots=True)
class Refresh:
    """When what classes inherit was last looked at. That is of all sources, so all scans of a thread share it."""

    at: float = float("-inf")

    def is_due(self, interval: float) -> bool:
        return time.monotonic() - self.at >= interval


@dataclass(slots=True)
class CandidateScan:
    """The scan of one source's candidates. Classes are looked at and findings counted no more often than every
    `sweep_interval`; `at_once` means that findings do not wait for it.
    """

    connection: Connection
    source: Source
    lease: Lease
    batch: int = BATCH
    sweep_interval: float = SWEEP_INTERVAL
    at_once: bool = False
    refresh: Refresh = field(default_factory=Refresh)
    run: Run = field(default_factory=Run, init=False)
    _counted: float = field(default=float("-inf"), init=False)
    _horizon: str | None = field(default=None, init=False)
    # How many classes are still to be counted, and the seconds that the last count has taken.
    _uncounted: int = field(default=0, init=False)
    _counting: float = field(default=0.0, init=False)
    _is_counting: bool = field(default=False, init=False)
    _width: Width = field(default_factory=lambda: Width(most=counting.COUNTED), init=False)
    _put_off: float | None = field(default=None, init=False)
    _throttled: float = field(default=0.0, init=False)
    _left: int = field(default=0, init=False)

    @property
    def name(self) -> str:
        return self.source.source_name

    def run_once(self) -> Step:
        """Marks of groups, by themselves, since whoever marks waits for it; then some dirty candidates; then members of
        what was judged anew; then what is too old.
        """
        before = self._horizon, self._counted, self._uncounted

        def anew(batch: Batch) -> tuple[Step, Run]:
            # What an attempt has counted that was not kept is not counted.
            self._horizon, self._counted, self._uncounted, self._is_counting = *before, False
            return self._batch(batch)

        doing = f"scanning {self.name}"
        try:
            step, self.run = run_fenced(self.connection, self.lease, anew, worker=NAME, source=self.name, doing=doing)
        except OneroofError as error:
            self._horizon, self._counted, self._uncounted = None, before[1], 0
            is_slow = self._is_counting and error_kinds.kind_of(error) == error_kinds.SLOW
            if not (is_slow and self._width.narrow()):
                raise
            # Of fewer objects at a time.
            return MOVED
        return step

    def _batch(self, batch: Batch) -> tuple[Step, Run]:
        here, moved = batch.cursor, 0
        if not self.refresh.is_due(self.sweep_interval) and not judgements.is_moving_on(self.connection, self.source):
            return self._findings(here), self.run
        if time.monotonic() >= self._throttled:
            taken, self._left = judgements.absorb(self.connection, most=MARKS)
            self._throttled = time.monotonic() + THROTTLE if self._left else 0.0
            if taken:
                self.refresh.at = float("-inf")
                return MOVED, self.run
        if self.refresh.is_due(self.sweep_interval):
            moved = judgements.refresh(self.connection)
            self.refresh.at = time.monotonic()
        judged = judgements.judge(self.connection, self.source)
        done = self._first_of("apply", "spread", "expire")
        if not (moved or judged or done):
            return (Step(0, 0, idle=False, rest=REST) if self._left else self._findings(here)), self.run
        run = replace(self.run, batch_count=self.run.batch_count + 1, rows_seen=self.run.rows_seen + done)
        batch.advance(at=None, seen=done, written=done, summary=run.summary())
        return Step(seen=done, written=done, idle=False), run

    def _first_of(self, *steps: str) -> int:
        return next(
            (n for what in steps if (n := judgements.call(self.connection, what, self.source, most=self.batch))), 0
        )

    def _findings(self, here: Cursor) -> Step:
        """When the verdicts are still: count what they found, and tell it. While they are about to change this is put
        off for a while, since it would have to be done again.
        """
        if self._uncounted or ((self.at_once or self._is_counting_due()) and self._has_moved()):
            self._put_off = self._put_off or time.monotonic()
            if time.monotonic() - self._put_off < PATIENCE and judgements.is_moving(self.connection, self.source):
                return Step(seen=0, written=0, idle=False, rest=REST)
            if self._count():
                return MOVED
            number, seen = int(here.metadata.get("batches") or 0), here.events_seen
            if number:
                who = {"worker": NAME, "source": self.name}
                done = [emission.completed(each, **who, number=number, judged=seen) for each in COMPLETED]
                emission.emit(self.connection, done)
        told = judgements.call(self.connection, "tell", self.source, most=FINDINGS)
        return MOVED if told else NOTHING

    def _count(self) -> int:
        """Count some classes; how many are left. What moves meanwhile is counted the next time."""
        began = time.monotonic()
        if not self._uncounted:
            self._horizon, self._counting = counting.horizon(self.connection), 0.0
        self._is_counting = True
        self._uncounted = counting.count(self.connection, self.source, most=self._width.now)
        self._is_counting = False
        self._width.widen()
        self._counted, self._put_off = time.monotonic(), None
        self._counting += self._counted - began
        return self._uncounted

    def _is_counting_due(self) -> bool:
        """However many objects there are, counting takes no more than its share of the time."""
        return time.monotonic() - self._counted >= max(self.sweep_interval, SHARE * self._counting)

    def _has_moved(self) -> bool:
        return self._horizon is None or counting.has_moved(self.connection, self.source, since=self._horizon)
