"""The supervisor: which worker threads run, and when a run is over (docs/explanation/runtime/scheduling.md).

Each worker has a thread of its own, so that a long sweep never delays the tail; a sweep in ranges has one for each
range, and the intake a second one for its signals. The main thread keeps house on a connection of its own: sources and
policies, which instances live, the watch. A run until idle ends when every assignment was found idle since the last
write. Any number of processes on any number of machines may run; leases share out the work (doc 39 §39.6).
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from oneroof.backfill import ranges
from oneroof.database.connection import Connection
from oneroof.database.parallel_reader import ParallelReader
from oneroof.database.transaction import transaction
from oneroof.errors import HeldElsewhere, OneroofError, Refused, Usage
from oneroof.failures import error_kinds
from oneroof.fence.lease import Lease
from oneroof.intake import change_marks
from oneroof.people.gates import require_open
from oneroof.runtime import watch
from oneroof.runtime.admission import GATE, Admission
from oneroof.runtime.assignment import Duty, Worker
from oneroof.runtime.held_leases import HeldLeases
from oneroof.runtime.instances import Instances
from oneroof.runtime.progress import Report
from oneroof.runtime.reconnection import Reconnection
from oneroof.runtime.worker_thread import Activity, WorkerThread
from oneroof.sources import registration
from oneroof.sources.source import INVENTORY, Source
from oneroof.workers import (
    backfill_sweep,
    candidate_scan,
    handoff_intake,
    handoff_signals,
    input_gate,
    periodic_full_audit,
)
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.candidate_scan import CandidateScan, Refresh
from oneroof.workers.handoff_intake import HandoffIntake
from oneroof.workers.handoff_signals import HandoffTell
from oneroof.workers.input_gate import InputGate
from oneroof.workers.periodic_full_audit import FullAudit

NAMES = (backfill_sweep.NAME, handoff_intake.NAME, input_gate.NAME, candidate_scan.NAME, periodic_full_audit.NAME)
# Seconds after which sources are listed again, so that one that comes or goes is noticed.
REPLAN = 5.0
# Listing the sources and the watch may each take one part in so many of the time: without it, they are most of what an
# idle process with many sources does.
SHARE = 200
# Seconds between two ticks of the instance, for which policies, gate and free leases are believed.
TICK = 1.0
Mode = Literal["for ever", "once", "until idle"]


@dataclass(slots=True)
class Supervisor:
    """A run of some workers by one instance; `dial` opens a connection, one for each thread."""

    dial: Callable[[], Connection]
    workers: list[str]
    instance: str
    mode: Mode
    stop: threading.Event
    tell: Callable[[Report], None]
    shards: int = 1
    # A worker that is named runs an audit, due or not.
    named: bool = False
    seen: int = field(default=0, init=False)
    # Groups of which a run that has ended left something to be told.
    untold: int = field(default=0, init=False)
    _activity: Activity = field(default_factory=Activity, init=False)
    _admission: Admission = field(default_factory=Admission, init=False)
    _instances: Instances = field(init=False)
    _house: Reconnection = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _sources: list[Source] = field(default_factory=list, init=False)
    _ranges: dict[str, list[str]] = field(default_factory=dict, init=False)
    # The number of the plan, when it was made, and when to tick and to watch next.
    _number: int = field(default=0, init=False)
    _planned: float = field(default=float("-inf"), init=False)
    _listing: float = field(default=0.0, init=False)
    _ticked: float = field(default=float("-inf"), init=False)
    _watch_at: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        key = f"{self.instance}/{uuid.uuid4()}" if self.mode == "for ever" else None
        self._instances = Instances(key, self.workers)
        self._house = self._connecting(self.stop)

    def run(self) -> int:
        """Run until told to stop, or until there is nothing to do; rows seen."""
        try:
            self._begin()
            if not self.stop.is_set():
                self._run_threads()
                self._last_look()
                self._complain_if_all_held()
        finally:
            if self._house.connection is not None:
                with suppress(OneroofError):
                    self._instances.leave(self._house.connection)
                self._house.close()
        return self.seen

    def _begin(self) -> None:
        """A run that is to end does not begin without a server, nor behind a closed gate."""
        if self.mode != "for ever":
            self._house.connection = self.dial()
            require_open(self._house.connection, GATE)
        while not self.stop.is_set() and not self._keep_house():
            pass
        self._activity.threads = [thread for worker in self.workers for thread in self._threads(worker)]

    def _run_threads(self) -> None:
        running = self._activity.threads
        threads = [
            threading.Thread(target=each.run, name=f"{each.kind} {i}", daemon=True) for i, each in enumerate(running)
        ]
        for thread in threads:
            thread.start()
        try:
            self._wait(threads)
        except BaseException:
            self._activity.end()
            for each in running:
                each.reconnection.abort()
            raise
        finally:
            self._activity.end()
            for thread in threads:
                thread.join(timeout=10)
        for each in running:
            if each.failure is not None:
                raise each.failure

    def _wait(self, threads: list[threading.Thread]) -> None:
        until_idle = self.mode == "until idle"
        while any(thread.is_alive() for thread in threads):
            if self.stop.is_set() or any(each.failure for each in self._activity.threads):
                return
            if until_idle and self._is_over():
                return
            if until_idle and not self._admission.gate_open:
                raise Refused(f"the gate {GATE} was closed", hint=f"oneroof gate request {GATE} --reason …")
            self._keep_house()
            self.stop.wait(0.2 if self.mode == "for ever" else 0.02)

    def _is_over(self) -> bool:
        """Whether every assignment was found idle since the last write; then no step begins any more."""
        with self._activity.lock:
            over = self._planned > float("-inf") and all(
                each.planned == self._number and each.is_idle() for each in self._activity.threads
            )
            if over:
                self._activity.over.set()
        return over

    def _keep_house(self) -> bool:
        """Tick, list the sources and watch, each when it is time for it; False if the connection was lost."""
        try:
            connection = self._house.open()
            if time.monotonic() - self._ticked >= min(TICK, self._ttl / 4):
                self._tick(connection)
            if time.monotonic() - self._planned >= max(REPLAN, SHARE * self._listing):
                self._plan(connection)
            if self.mode == "for ever" and time.monotonic() >= self._watch_at:
                self._watch(connection)
            self._house.hold()
        except OneroofError as error:
            kind = error_kinds.kind_of(error)
            if kind == error_kinds.LOST or self._house.is_broken:
                self._house.drop(error)
            elif kind not in (error_kinds.SLOW, error_kinds.AGAIN, error_kinds.FULL):
                raise
            return False
        return True

    def _tick(self, connection: Connection) -> None:
        """Say that this instance lives, and wake the threads where a policy, the gate or what is free has changed."""
        known = self._admission.policies, self._admission.gate_open, self._instances.news
        with transaction(connection, doing="ticking the instance", role="oneroof_worker", lock_timeout=2):
            self._admission.read(connection)
            self._instances.tick(connection, ttl=self._ttl)
        self._ticked = time.monotonic()
        if known != (self._admission.policies, self._admission.gate_open, self._instances.news):
            for each in self._activity.threads:
                each.leases.tick_at = 0.0
                each.event.set()

    def _watch(self, connection: Connection) -> None:
        """Watch, and say when to watch again: the more instances, the more rarely each, but in time to find a gap."""
        began = time.monotonic()
        watch.watch(connection)
        ended = time.monotonic()
        pause = max(watch.INTERVAL * self._instances.many, SHARE * (ended - began))
        self._watch_at = ended + min(pause, self._ttl / 3)

    @property
    def _ttl(self) -> float:
        """A gap is to be found within two TTLs of the worker that has the shortest."""
        return min((rules.lease_ttl for rules in self._admission.policies.values()), default=watch.INTERVAL)

    def _plan(self, connection: Connection) -> None:
        """What is registered now; a new number only where it is not what was registered before."""
        began = time.monotonic()
        found = registration.listing(connection)
        ranges_of = ranges.all_names(connection, worker=backfill_sweep.NAME)
        self._listing = time.monotonic() - began
        with self._lock:
            if self._number == 0 or (found, ranges_of) != (self._sources, self._ranges):
                self._sources, self._ranges = found, ranges_of
                self._number += 1
            # A sweep that was cut meanwhile wants another one.
            if self._planned <= began:
                self._planned = began
        for each in self._activity.threads:
            if each.planned != self._number:
                each.event.set()

    def _last_look(self) -> None:
        """What a run that ends has opened or closed shows in the findings at once, and what may be emitted now is."""
        if self.mode == "for ever":
            return
        connection = self._house.open()
        watch.watch(connection)
        while not self.stop.is_set() and watch.promote(connection) + watch.retire(connection):
            pass
        self.untold = change_marks.count_untold(connection)

    def _complain_if_all_held(self) -> None:
        assignments = [each for thread in self._activity.threads for each in thread.assignments]
        held = [each.held_by for each in assignments if each.held_by]
        if self.mode != "for ever" and held and len(held) == len(assignments) and not self.stop.is_set():
            raise HeldElsewhere(held[0], hint="another instance does the work")

    def _threads(self, worker: str) -> list[WorkerThread]:
        parts: list[str | None] = [None, handoff_signals.PART] if worker == handoff_intake.NAME else [None]
        many = self.shards if worker == backfill_sweep.NAME else 1
        return [self._thread(worker, part, place=place, many=many) for part in parts for place in range(many)]

    def _thread(self, worker: str, part: str | None, *, place: int, many: int) -> WorkerThread:
        def plan(known: int | None) -> tuple[int, list[Duty]] | None:
            if known == self._number:
                return None
            with self._lock:
                return self._number, self._duties(worker, part, place=place, many=many)

        return WorkerThread(
            worker,
            part,
            self._connecting(self._activity.over),
            self._admission,
            HeldLeases(worker, self.instance, self._instances, self._admission, self._told),
            self._activity,
            plan=plan,
            build=self._build,
            tell=self._told,
            endless=self.mode == "for ever",
            once=self.mode == "once",
            named=self.named,
        )

    def _connecting(self, stop: threading.Event) -> Reconnection:
        endless = self.mode == "for ever"
        return Reconnection(self.dial, stop, endless, lambda what: self._told(Report("server", what=what)))

    def _duties(self, worker: str, part: str | None, *, place: int, many: int) -> list[Duty]:
        """What one thread has to do, by what is registered now."""
        if worker == handoff_intake.NAME and part is None:
            return [Duty(worker, each, each.source_name) for each in self._sources]
        whole = [Duty(worker, each, each.source_name) for each in self._sources if each.source_kind == INVENTORY]
        if part is not None:
            return [replace(duty, part=part) for duty in whole]
        if worker != backfill_sweep.NAME:
            return whole
        parts = [Duty(worker, duty.source, name) for duty in whole for name in self._ranges.get(duty.scope, [])]
        return [*(whole if place == 0 else []), *parts[place::many]]

    def _build(self, connection: Connection, duty: Duty, held: Lease, batch: int, refresh: Refresh) -> Worker:
        source, interval = duty.source, self._admission.policies[duty.worker].sweep_interval
        if duty.worker == backfill_sweep.NAME:
            sweep = BackfillSweep(connection, source, held, batch=batch, scope=duty.scope)
            if self.shards > 1 and not duty.is_range and sweep.cut(self.shards):
                self._planned = float("-inf")
            return sweep
        if duty.worker == input_gate.NAME:
            return InputGate(connection, source, held, batch=batch)
        if duty.worker == candidate_scan.NAME:
            at_once = self.mode != "for ever"
            return CandidateScan(
                connection, source, held, batch=batch, sweep_interval=interval, at_once=at_once, refresh=refresh
            )
        if duty.worker == periodic_full_audit.NAME:
            second = ParallelReader(self.dial)
            return FullAudit(
                connection, source, held, batch=batch, interval=interval, at_once=self.named, second=second
            )
        if duty.part is not None:
            return HandoffTell(connection, source, held, batch=batch)
        return HandoffIntake(
            connection,
            source,
            held,
            batch=batch,
            sweep_interval=interval,
            # Only a source of which a whole window was closed in this run is idle.
            at_once=self.mode == "until idle",
            hurried=self.mode == "once",
        )

    def _told(self, report: Report) -> None:
        with self._lock:
            if report.step is not None:
                self.seen += report.step.seen
            self.tell(report)


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
