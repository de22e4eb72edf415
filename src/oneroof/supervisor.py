"""The supervisor: which workers run on what, in how many lanes, and when a run is over (doc 39 §39.6).

Each worker has a lane of its own, so that a long sweep never delays the tail; a sweep in ranges has one for each range,
and the intake a second one for its signals.
A run ends when it is told to, or, until idle, when every lane has gone a whole round without work since the last time
that any lane had some. Any number of processes on any number of machines may run; leases share out the work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from oneroof import handoff, ranges, watch
from oneroof import source as sources
from oneroof.bell import Call
from oneroof.connection import Connection, leave
from oneroof.control import GATE, Control
from oneroof.duty import Duty
from oneroof.errors import HeldElsewhere, Refused, Usage
from oneroof.executor import Worker
from oneroof.gates import require_open
from oneroof.lane import Lane
from oneroof.lease import Lease
from oneroof.link import Link
from oneroof.parallel_reader import ParallelReader
from oneroof.report import Report
from oneroof.source import INVENTORY, Source
from oneroof.workers import backfill_sweep, candidate_scan, full_audit, handoff_intake, handoff_tell, input_gate
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.candidate_scan import CandidateScan
from oneroof.workers.full_audit import FullAudit
from oneroof.workers.handoff_intake import HandoffIntake
from oneroof.workers.handoff_tell import HandoffTell
from oneroof.workers.input_gate import InputGate

NAMES = (backfill_sweep.NAME, handoff_intake.NAME, input_gate.NAME, candidate_scan.NAME, full_audit.NAME)
REPLAN = 5.0
# Those who live on what the intake brings.
FOLLOWING = (input_gate.NAME, candidate_scan.NAME)
Mode = Literal["for ever", "once", "until idle"]


@dataclass(slots=True)
class Supervisor:
    """A run of some workers by one instance; `dial` opens a connection, one for each lane."""

    dial: Callable[[], Connection]
    workers: list[str]
    instance: str
    mode: Mode
    stop: threading.Event
    tell: Callable[[Report], None]
    shards: int = 1
    # Whoever is named runs an audit, due or not.
    named: bool = False
    seen: int = field(default=0, init=False)
    # Groups of which a run that has ended left something to be told.
    untold: int = field(default=0, init=False)
    _activity: int = field(default=0, init=False)
    _control: Control = field(default_factory=Control, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _sources: list[Source] = field(default_factory=list, init=False)
    _ranges: dict[str, list[str]] = field(default_factory=dict, init=False)
    _planned: float = field(default=float("-inf"), init=False)
    _plans: dict[tuple[str, int], list[Duty]] = field(default_factory=dict, init=False)
    _planning: threading.Lock = field(default_factory=threading.Lock, init=False)
    _all: list[Lane] = field(default_factory=list, init=False)
    _over: threading.Event = field(default_factory=threading.Event, init=False)

    def run(self) -> int:
        """Run until told to stop, or until there is nothing to do; rows seen."""
        self._all = lanes = [lane for worker in self.workers for lane in self._lanes(worker)]
        if self.mode != "for ever":
            self._check(lanes[0])
            self._control.put_off()
        threads = [
            threading.Thread(target=lane.run, args=(lambda: self._activity,), name=f"lane {i}", daemon=True)
            for i, lane in enumerate(lanes)
        ]
        for thread in threads:
            thread.start()
        try:
            self._wait(lanes, threads)
        except BaseException:
            self._over.set()
            for lane in lanes:
                lane.link.abort()
            raise
        finally:
            self._over.set()
            self._ring(Call.EVERYBODY)
            for thread in threads:
                thread.join(timeout=10)
        for lane in lanes:
            if lane.failure is not None:
                raise lane.failure
        self._last_look()
        self._complain_if_all_held(lanes)
        return self.seen

    def _check(self, lane: Lane) -> None:
        """A run that is to end does not begin without a server, nor behind a closed gate; who asked goes on with it."""
        connection = self.dial()
        try:
            require_open(connection, GATE)
        except BaseException:
            leave(connection)
            raise
        lane.link.adopt(connection)

    def _wait(self, lanes: list[Lane], threads: list[threading.Thread]) -> None:
        while any(thread.is_alive() for thread in threads):
            if self.stop.is_set() or any(lane.failure for lane in lanes):
                return
            if self.mode == "until idle" and self._is_over(lanes):
                return
            if self.mode == "until idle" and self._control.policies and not self._control.gate_open:
                raise Refused(f"the gate {GATE} was closed", hint=f"oneroof gate request {GATE} --reason …")
            self.stop.wait(0.2 if self.mode == "for ever" else 0.02)

    def _is_over(self, lanes: list[Lane]) -> bool:
        """Whether every lane is idle since the last time that any had work; then none begins any more."""
        with self._lock:
            over = all(lane.idle_at == self._activity for lane in lanes)
            if over:
                self._over.set()
        return over

    def _last_look(self) -> None:
        """What this run has opened or closed shows in the findings at once, also of a run that was short; and all that
        is held and may be emitted is.
        """
        if self.mode == "for ever":
            return
        connection = self.dial()
        try:
            watch.watch(connection)
            while not self.stop.is_set() and watch.promote(connection) + watch.retire(connection):
                pass
            self.untold = handoff.count_untold(connection)
        finally:
            leave(connection)

    def _complain_if_all_held(self, lanes: list[Lane]) -> None:
        executors = [executor for lane in lanes for executor in lane.executors]
        held = [executor.held_by for executor in executors if executor.held_by]
        if self.mode != "for ever" and held and len(held) == len(executors) and not self.stop.is_set():
            raise HeldElsewhere(held[0], hint="another instance does the work")

    def _lanes(self, worker: str) -> list[Lane]:
        # The intake's second lane tells what the first one has marked.
        many = self.shards if worker == backfill_sweep.NAME else 1 + (worker == handoff_intake.NAME)
        endless = self.mode == "for ever"
        return [
            Lane(
                link=Link(self.dial, self._over, endless, say=lambda what: self._told(Report("server", what=what))),
                control=self._control,
                instance=self.instance,
                plan=partial(self._plan, worker=worker, place=place, lanes=many),
                begin=self._begin,
                tell=self._told,
                call=self._called,
                guard=self._lock,
                stop=self._over,
                endless=endless,
                once=self.mode == "once",
                with_intake=handoff_intake.NAME in self.workers,
                follows=handoff_intake.NAME in self.workers and (worker in FOLLOWING or (place > 0 and many == 2)),
            )
            for place in range(many)
        ]

    def _plan(self, connection: Connection, worker: str, *, place: int, lanes: int, hot: bool) -> list[Duty]:
        """What one of a worker's lanes has to do, by what is registered now; the same list until that is looked up
        again, which one that is hot leaves to others for a while.
        """
        # Whoever comes while another looks makes do with what is known.
        if self._planning.acquire(blocking=self._planned == float("-inf")):
            try:
                if time.monotonic() - self._planned >= (2 * REPLAN if hot else REPLAN):
                    self._look_up(connection)
            finally:
                self._planning.release()
        with self._lock:
            if (worker, place) not in self._plans:
                self._plans[worker, place] = self._duties(worker, place=place, lanes=lanes)
            return self._plans[worker, place]

    def _look_up(self, connection: Connection) -> None:
        found = sources.listing(connection)
        ranges_of = {
            each.source_name: ranges.names(connection, worker=backfill_sweep.NAME, source=each.source_name)
            for each in found
            if each.source_kind == INVENTORY
        }
        with self._lock:
            self._sources, self._ranges, self._planned = found, ranges_of, time.monotonic()
            self._plans.clear()

    def _duties(self, worker: str, *, place: int, lanes: int) -> list[Duty]:
        if worker == handoff_intake.NAME and place == 0:
            # First what has verdicts.
            ordered = sorted(self._sources, key=lambda each: each.source_kind != INVENTORY)
            return [Duty(worker, each, each.source_name) for each in ordered]
        whole = [Duty(worker, each, each.source_name) for each in self._sources if each.source_kind == INVENTORY]
        if worker == handoff_intake.NAME:
            return [replace(duty, part=handoff_tell.PART) for duty in whole]
        if worker != backfill_sweep.NAME:
            return whole
        parts = [Duty(worker, duty.source, name) for duty in whole for name in self._ranges[duty.scope]]
        return [*(whole if place == 0 else []), *parts[place::lanes]]

    def _begin(self, connection: Connection, duty: Duty, held: Lease, batch: int) -> Worker:
        if duty.worker == backfill_sweep.NAME:
            sweep = BackfillSweep(connection, duty.source, held, batch=batch, scope=duty.scope)
            if self.shards > 1 and duty.scope == duty.source.source_name and sweep.cut(self.shards):
                with self._lock:
                    self._planned = float("-inf")
                    self._activity += 1
            return sweep
        interval = self._control.policies[duty.worker].sweep_interval
        if duty.worker == input_gate.NAME:
            return InputGate(connection, duty.source, held, batch=batch)
        if duty.worker == candidate_scan.NAME:
            at_once = self.mode != "for ever"
            return CandidateScan(connection, duty.source, held, batch=batch, sweep_interval=interval, at_once=at_once)
        if duty.worker == full_audit.NAME:
            at_once, second = self.named, ParallelReader(self.dial)
            return FullAudit(
                connection, duty.source, held, batch=batch, interval=interval, at_once=at_once, second=second
            )
        if duty.part == handoff_tell.PART:
            return HandoffTell(connection, duty.source, held, batch=min(batch, handoff_tell.BATCH))
        # Idle is only who has closed a whole window in this run; after it the usual interval is good enough.
        at_once = self.mode == "until idle"
        return HandoffIntake(
            connection,
            duty.source,
            held,
            batch=batch,
            sweep_interval=interval,
            at_once=at_once,
            hurried=self.mode == "once",
        )

    def _told(self, report: Report) -> None:
        with self._lock:
            if report.step is not None:
                self.seen += report.step.seen
                self._activity += not report.step.idle
            self.tell(report)
        # Where nobody waits for the newest row, a look too many is cheaper than a wait.
        if self.mode == "until idle" and report.step is not None and report.step.written:
            self._ring(Call.FOLLOWERS)

    def _called(self) -> None:
        """A lane has come to its end: whether that is the end of all, everybody is to see at once."""
        if self.mode == "until idle":
            self._ring(Call.EVERYBODY)

    def _ring(self, call: Call) -> None:
        for lane in self._all:
            lane.bell.ring(call)


def worker_names(words: list[str]) -> list[str]:
    """The workers meant, with or without `gov_`; all, where none is named."""
    chosen = []
    for word in words:
        name = word if word.startswith("gov_") else f"gov_{word}"
        if name not in NAMES:
            known = ", ".join(each.removeprefix("gov_") for each in NAMES)
            raise Usage(f"there is no worker {word!r}", hint=f"workers: {known}")
        chosen.append(name)
    return chosen or list(NAMES)
