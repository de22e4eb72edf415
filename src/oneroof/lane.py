"""A lane: one connection, one thread, some executors in turn, each behind a lease of its own (doc 39 §39.6).

A busy executor is called again at once, a quiet one ever more rarely, down to once a second, and together with others
that are nearly due; one that lives on what the intake brings does not look while nobody of this process does anything.
A lost connection is opened again; a full disk is waited for; an executor whose source cannot be read ticks with `warn`,
leaves a finding and is tried again ever more rarely: sick is not dead. One whose lease is held elsewhere is left to the
holder.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from oneroof import lease, retry, trouble
from oneroof.bell import Bell, Call
from oneroof.connection import Connection, leave
from oneroof.control import Control
from oneroof.duty import Duty
from oneroof.errors import HeldElsewhere, OneroofError
from oneroof.executor import FOLLOWERS, Executor, Worker, in_turn
from oneroof.lease import Lease
from oneroof.link import Link
from oneroof.report import Report
from oneroof.transaction import transaction
from oneroof.workers import handoff_intake
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.candidate_scan import CandidateScan
from oneroof.workers.full_audit import FullAudit
from oneroof.workers.handoff_intake import HandoffIntake

BUSY, ASIDE, QUIET = 0.002, 0.02, 1.0
# The pause grows with the time since there was news, of which it is one part in so many.
CALMING = 4
LONGEST_WAIT = 30.0
# Seconds between two looks of one that follows another, when that one has brought nothing.
FOLLOWING = 5.0
# So many rows in one turn are more than come one by one.
MANY = 50
# Seconds of one executor's turns in a run until idle.
SLICE = 5.0
# Seconds for which those who follow the intake leave it alone.
HEAD_START = 1.0
REGRESSION = "GV410"
WORKER = "oneroof_worker"


@dataclass(slots=True)
class Lane:
    """Executors that take turns on one connection until they are told to stop."""

    link: Link
    control: Control
    instance: str
    plan: Callable[..., list[Duty]]
    begin: Callable[[Connection, Duty, Lease, int], Worker]
    tell: Callable[[Report], None]
    # Whoever has come to an end says so, since others may have waited for it.
    call: Callable[[], None]
    guard: threading.Lock
    stop: threading.Event
    endless: bool
    once: bool
    # Whether this process runs the intake too, and whether all in this lane live on what it brings.
    with_intake: bool = False
    follows: bool = False
    executors: list[Executor] = field(default_factory=list, init=False)
    failure: BaseException | None = field(default=None, init=False)
    idle_at: int | None = field(default=None, init=False)
    _mark: int = field(default=0, init=False)
    _arranged: list[Duty] | None = field(default=None, init=False)
    _began: float = field(default_factory=time.monotonic, init=False)
    bell: Bell = field(default_factory=Bell, init=False)
    _has_worked: bool = field(default=False, init=False)

    def run(self, activity: Callable[[], int]) -> None:
        """Rounds until the stop; `activity` counts what all lanes have done, so that idle means idle of all."""
        try:
            self._hold_back()
            while not self.stop.is_set():
                self._mark = activity()
                if not self._round(activity):
                    continue
                self._note_idle()
                if self.once:
                    break
                self._rest()
        except BaseException as failure:
            self.failure = failure
        finally:
            self._end()

    def _hold_back(self) -> None:
        """In a run until idle those who live on what the intake brings open no connection while it has all to do: they
        would take its processors; but not for long.
        """
        while self.follows and not self.stop.is_set() and self.control.is_early():
            if self.endless or self.once or time.monotonic() - self._began > HEAD_START:
                break
            self.bell.wait(ASIDE)

    def _note_idle(self) -> None:
        known = [executor.idle_at for executor in self.executors if executor.idle_at is not None]
        self.idle_at = None if len(known) < len(self.executors) else min(known, default=self._mark)
        if self._has_worked and self.idle_at is not None:
            self._has_worked = False
            self.call()

    def _round(self, activity: Callable[[], int]) -> bool:
        """One turn of every executor; False if there was no connection to take it on."""
        try:
            connection = self._connected()
            self._arrange(connection)
            for executor in in_turn(self.executors):
                self._turns(connection, executor, activity)
            self.control.watch(connection, hot=self._is_hot())
        except OneroofError as error:
            kind = retry.kind_of(error)
            if kind == retry.LOST or self.link.is_broken:
                self.link.drop(error)
            elif kind == retry.FULL:
                self.tell(Report("server", what=f"{error}; waiting for space"))
                self.stop.wait(QUIET)
            elif kind not in (retry.SLOW, retry.AGAIN):
                raise
            return False
        return True

    def _rest(self) -> None:
        """Until somebody wants his turn; those who live on what others bring want it when they hear of it."""
        if (call := self.bell.wait(self._until_next())) is not None:
            for executor in self.executors:
                if call is Call.EVERYBODY or executor.follows:
                    executor.not_before = 0.0

    def _is_hot(self) -> bool:
        return any(executor.is_hot(time.monotonic()) for executor in self.executors)

    def _until_next(self) -> float:
        """Until somebody wants his turn, or a lease its tick."""
        wanted = [executor.not_before for executor in self.executors]
        held = [(e, self.control.ttl(e.duty.worker, e.running.lease)) for e in self.executors if e.running is not None]
        soonest = min([*wanted, *(executor.ticked + ttl / 3 for executor, ttl in held)], default=0.0) - time.monotonic()
        return min(max(soonest, 0.0 if self.executors else BUSY), QUIET)

    def _connected(self) -> Connection:
        connection = self.link.open()
        for executor in self.executors:
            if executor.running is not None and executor.running.connection is not connection:
                executor.running.connection = connection
        return connection

    def _arrange(self, connection: Connection) -> None:
        """Take up new duties, and give up those that are gone or were changed."""
        plan = self.plan(connection, hot=self._is_hot())
        if plan is self._arranged:
            return
        duties = {duty.executor: duty for duty in plan}
        # Whoever takes over a sick one's duty clears its finding.
        failures: dict[str, int] = {}
        for executor in [each for each in self.executors if duties.get(each.duty.executor) != each.duty]:
            self._release(connection, executor)
            self.executors.remove(executor)
            failures[executor.duty.executor] = executor.failures
        known = {executor.duty.executor for executor in self.executors}
        new = [(name, duty) for name, duty in duties.items() if name not in known]
        self.executors += [Executor(duty, failures=failures.get(name, 0)) for name, duty in new]
        self._arranged = plan

    def _turns(self, connection: Connection, executor: Executor, activity: Callable[[], int]) -> None:
        """One turn; in a run until idle as many as fit into a while, so that whoever has begun a pass ends it."""
        began = time.monotonic()
        if self._awaits_intake(executor, began):
            executor.not_before, executor.idle_at = began + ASIDE, None
            return
        while not self.stop.is_set():
            # What was done before a turn it knows of.
            self._mark = activity()
            self._turn(connection, executor)
            self.control.begin(executor.duty.executor)
            now, running = time.monotonic(), executor.running
            if self.endless or self.once or running is None or executor.idle_at is not None:
                break
            if now < executor.not_before or now - began >= SLICE:
                break
            for other in self.executors:
                self._tick(connection, other)

    def _awaits_intake(self, executor: Executor, now: float) -> bool:
        """In a run until idle one that lives on what the intake brings begins when that has come to its end, and leaves
        it the processors until then; but not for long.
        """
        duty = executor.duty
        if not self.with_intake or self.endless or self.once or executor.running or now - self._began > HEAD_START:
            return False
        has_begun = self.control.has_begun(lease.executor_name(handoff_intake.NAME, duty.scope))
        return (duty.part is not None or executor.follows) and (not has_begun or self.control.is_leading(duty.scope))

    def _turn(self, connection: Connection, executor: Executor) -> None:
        worker, now = executor.duty.worker, time.monotonic()
        if now < executor.not_before - executor.pause / CALMING:
            self._tick(connection, executor)
            return
        if self._is_still(executor, now):
            self._tick(connection, executor)
            executor.not_before = now + QUIET
            return
        if executor.follows and now < executor.looked + QUIET and self.control.is_swept(executor.duty.scope):
            # What a sweep leaves to be judged can be judged together, and takes none of its time.
            self._tick(connection, executor)
            executor.not_before, executor.idle_at = executor.looked + QUIET, None
            return
        asked = self.control.ask(connection, worker, hot=self._is_hot())
        if asked.word == "leave":
            self._say(executor, asked.why)
            self._release(connection, executor)
            self._later(executor, idle=self.control.gate_open)
        elif asked.word != "work":
            self._say(executor, asked.why)
            self._tick(connection, executor)
            self._later(executor, idle=asked.word == "rest")
        elif now < self.control.free_at(worker):
            self._tick(connection, executor)
        elif executor.duty.part and self.control.is_pressed(executor.duty.scope):
            self._tick(connection, executor)
            executor.not_before, executor.idle_at = now + ASIDE, None
        elif executor.duty.is_range and self._has_range(executor):
            executor.idle_at = None
        else:
            self._work(connection, executor)

    def _is_still(self, executor: Executor, now: float) -> bool:
        """Whether nothing was done in this process since a follower had nothing to do; but time also brings work."""
        running, scope = executor.running, executor.duty.scope
        if not (self.endless and isinstance(running, FOLLOWERS) and self.control.is_led(scope)):
            return False
        longest = min(FOLLOWING, running.sweep_interval) if isinstance(running, CandidateScan) else FOLLOWING
        return executor.still_at == self._mark and now - executor.looked < longest

    def _has_range(self, executor: Executor) -> bool:
        """A lane sweeps one range at a time, and leaves the others to whoever is free."""
        others = (other for other in self.executors if other is not executor and other.duty.is_range)
        return executor.running is None and any(other.running is not None and other.idle_at is None for other in others)

    def _work(self, connection: Connection, executor: Executor) -> None:
        worker, now = executor.duty.worker, time.monotonic()
        with self.guard:
            # Nobody begins when all were found to be idle, and nobody is while he looks.
            if self.stop.is_set():
                return
            self.idle_at = None
        try:
            running = self._started(connection, executor)
            # Whoever runs until idle waits for the last row, and for none before it.
            pressed = self.endless and self._is_hot()
            step = running.run_once()
        except HeldElsewhere as held:
            self._held(connection, executor, held)
            return
        except OneroofError as error:
            if retry.kind_of(error) in (retry.LOST, retry.FULL) or self.link.is_broken:
                self.control.note(worker, failed=True)
                raise
            self._sicken(connection, executor, error)
            return
        self.link.hold()
        executor.ticked = executor.looked = now
        self.control.note(worker, failed=False)
        if isinstance(running, HandoffIntake):
            self.control.lead(executor.duty.scope, over=step.idle and not self.endless)
        elif isinstance(running, BackfillSweep):
            self.control.sweep(executor.duty.source.source_name, over=step.idle)
        self._recover(connection, executor)
        executor.still_at = self._mark if step.idle else None
        if step.idle:
            self._later(executor, idle=True, rest=step.rest)
        else:
            self._has_worked = True
            self.control.spend(worker, step.seen)
            executor.not_before = max(self.control.free_at(worker), time.monotonic() + step.rest)
            executor.pause, executor.idle_at = 0.0, None
            if step.seen:
                executor.worked = time.monotonic()
                if isinstance(running, HandoffIntake):
                    self._press(running, step.seen, executor.duty.scope)
            elif pressed and not executor.is_hot(now):
                # A walk over what is known can wait a little for those with news.
                executor.not_before = max(executor.not_before, time.monotonic() + ASIDE)
            elif isinstance(running, HandoffIntake) and not self.endless:
                # First the verdicts, then what is told of them.
                self.control.press(executor.duty.scope, lasting=SLICE)
        if executor.duty.part and self.control.has_met(executor.duty.scope):
            # While there is news what can wait takes no more than a third of the time.
            executor.not_before = max(executor.not_before, time.monotonic() + 2 * (time.monotonic() - now))
        self.tell(Report(executor.duty.executor, step=step))

    def _press(self, running: HandoffIntake, seen: int, scope: str) -> None:
        """In a backlog nobody waits for the newest rows."""
        if seen < running.batch:
            self.control.meet(scope)
            if seen >= MANY:
                self.control.press(scope)

    def _later(self, executor: Executor, *, idle: bool, rest: float = 0.0) -> None:
        """Nothing to do for now: longer each time."""
        now = time.monotonic()
        executor.pause = max(BUSY, min(QUIET, (now - executor.worked) / CALMING))
        executor.not_before = now + executor.pause
        if self.endless and isinstance(executor.running, HandoffIntake | BackfillSweep | FullAudit):
            # Before that there would be nothing for it to do, also if others are due.
            calm = now + rest
            if calm > executor.not_before:
                executor.not_before, executor.pause = calm, 0.0
        executor.idle_at = self._mark if idle else None

    def _started(self, connection: Connection, executor: Executor) -> Worker:
        rules = self.control.policies[executor.duty.worker]
        batch = min(rules.batch_size, rules.rows_per_second or rules.batch_size)
        if executor.running is None:
            held = lease.claim(connection, executor.duty.executor, instance=self.instance, ttl=rules.lease_ttl)
            self._make_peace(connection, executor)
            executor.running, executor.batch = self.begin(connection, executor.duty, held, batch), batch
        elif executor.batch != batch:
            executor.running = self.begin(connection, executor.duty, executor.running.lease, batch)
            executor.batch = batch
        executor.held_by = None
        return executor.running

    def _held(self, connection: Connection, executor: Executor, held: HeldElsewhere) -> None:
        """Back off; a conflict that lasts, or a lease lost at work, is a finding."""
        rules, now = self.control.policies[executor.duty.worker], time.monotonic()
        lost = executor.running is not None
        if executor.held_by is None:
            executor.held_since = now
            self.tell(Report(executor.duty.executor, what=str(held)))
        executor.running, executor.held_by, executor.idle_at = None, str(held), self._mark
        executor.not_before = now + min(rules.lease_ttl / 3, 2.0)
        if lost or now - executor.held_since > 2 * rules.lease_ttl:
            executor.in_conflict = True
            trouble.tell(connection, "cursor_lease_conflict", executor.duty, str(held), instance=self.instance)

    def _make_peace(self, connection: Connection, executor: Executor) -> None:
        if executor.in_conflict:
            trouble.clear(connection, executor.duty, "cursor_lease_conflict")
            executor.in_conflict = False

    def _sicken(self, connection: Connection, executor: Executor, error: OneroofError) -> None:
        self.control.note(executor.duty.worker, failed=True)
        executor.failures += 1
        executor.not_before = time.monotonic() + min(LONGEST_WAIT, 0.25 * 2**executor.failures)
        executor.idle_at, executor.still_at = self._mark, None
        self._say(executor, str(error))
        regressed = getattr(error.__cause__, "sqlstate", None) == REGRESSION
        kind = "cursor_watermark_regression" if regressed else "cursor_source_error"
        trouble.tell(connection, kind, executor.duty, str(error), instance=self.instance)
        self._tick(connection, executor, status="warn", at_once=True)

    def _recover(self, connection: Connection, executor: Executor) -> None:
        if executor.failures:
            trouble.clear(connection, executor.duty, "cursor_source_error", "cursor_watermark_regression")
        executor.failures, executor.trouble = 0, None

    def _say(self, executor: Executor, why: str | None) -> None:
        if executor.trouble != why:
            executor.trouble = why
            self.tell(Report(executor.duty.executor, what=why))

    def _tick(self, connection: Connection, executor: Executor, *, status: str = "ok", at_once: bool = False) -> None:
        """Keep a lease alive that is not being worked on."""
        running, now = executor.running, time.monotonic()
        if running is None or (
            not at_once and now - executor.ticked < self.control.ttl(executor.duty.worker, running.lease) / 3
        ):
            return
        executor.ticked = now
        resting = "warn" if executor.trouble else status
        try:
            first = lease.fence(running.lease, status=resting)
            with transaction(connection, doing=f"ticking {running.name}", role=WORKER, lock_timeout=2, first=first):
                pass
        except HeldElsewhere as held:
            self._held(connection, executor, held)

    def _release(self, connection: Connection, executor: Executor) -> None:
        if executor.running is not None:
            lease.release(connection, executor.running.lease)
            executor.running = None

    def _end(self) -> None:
        # A connection that was cut or interrupted cannot give anything back; then the leases run out.
        if (connection := self.link.connection) is not None:
            with suppress(OneroofError):
                for executor in self.executors:
                    self._release(connection, executor)
                    self._make_peace(connection, executor)
            leave(connection)
