"""A worker thread: the assignments of one worker, one connection, one event (docs/explanation/runtime/scheduling.md).

It takes the assignment that is due first, asks for admission, and runs one step behind that assignment's lease. Quiet
assignments are looked at together. A lost connection is opened again; a full disk is waited for; an assignment whose
source cannot be read ticks with `warn`, leaves a finding and is tried again ever more rarely: sick is not dead.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from oneroof.database.connection import Connection
from oneroof.errors import HeldElsewhere, OneroofError
from oneroof.failures import error_kinds
from oneroof.fence.lease import Lease
from oneroof.fence.step import Step
from oneroof.runtime import worker_findings
from oneroof.runtime.admission import Admission, Answer
from oneroof.runtime.assignment import NEVER, Assignment, Duty, Worker
from oneroof.runtime.held_leases import HeldLeases
from oneroof.runtime.looks import GATHER, LONGEST_LOOK, Looks, begins_quiet
from oneroof.runtime.progress import Report
from oneroof.runtime.reconnection import Reconnection
from oneroof.tail import pass_schedule
from oneroof.workers import backfill_sweep, candidate_scan, handoff_intake, handoff_signals, periodic_full_audit
from oneroof.workers.candidate_scan import Refresh

# The longest wait, in seconds, after an assignment failed again and again: without it, a sick source costs as much as a
# well one.
LONGEST_WAIT = 30.0
REGRESSION = "GV410"


@dataclass(slots=True)
class Activity:
    """What the threads of one run know of each other. Under the lock: once the run is over, no step may begin."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)
    writes: int = 0
    threads: list[WorkerThread] = field(default_factory=list)

    def wrote(self, duty: Duty, step: Step) -> None:
        """A step did something: what lives on its source is due, and on the tables that oneroof itself writes into."""
        with self.lock:
            self.writes += 1
        for thread in self.threads:
            thread.hear(duty, has_written=step.written > 0)

    def end(self) -> None:
        """No step begins any more, and every thread wakes up to end."""
        self.over.set()
        for thread in self.threads:
            thread.event.set()


@dataclass(slots=True)
class WorkerThread:
    """One thread of one worker. `plan` answers what it has to do by what is registered now, with the number of that
    plan, or None if that is the one known already; `build` makes a worker; `tell` takes reports.
    """

    worker: str
    part: str | None
    reconnection: Reconnection
    admission: Admission
    leases: HeldLeases
    activity: Activity
    plan: Callable[[int | None], tuple[int, list[Duty]] | None]
    build: Callable[[Connection, Duty, Lease, int, Refresh], Worker]
    tell: Callable[[Report], None]
    endless: bool
    once: bool
    named: bool
    event: threading.Event = field(default_factory=threading.Event, init=False)
    assignments: list[Assignment] = field(default_factory=list, init=False)
    failure: BaseException | None = field(default=None, init=False)
    # The plan that its assignments are of, and why it may not work, if it may not.
    planned: int | None = field(default=None, init=False)
    refused: Answer | None = field(default=None, init=False)
    _of_source: dict[str, list[Assignment]] = field(default_factory=dict, init=False)
    _looks: Looks = field(init=False)

    def __post_init__(self) -> None:
        self._looks = Looks(self.kind, self.endless)

    @property
    def kind(self) -> str:
        return self.part or self.worker

    def run(self) -> None:
        """Rounds until the end of the run; or, once, until every assignment has had a step."""
        try:
            while not self.activity.over.is_set():
                if self._round() and self.once and self._is_done():
                    break
        except BaseException as failure:
            self.failure = failure
        finally:
            self._end()

    def hear(self, duty: Duty, *, has_written: bool) -> None:
        """A step did something for a source: called from any thread."""
        now = time.monotonic()
        for each in self._of_source.get(duty.source.source_name, []):
            if each.duty != duty and self._lives_on(each.duty, duty, has_written=has_written):
                each.wake(now)
        if not self.endless:
            for each in self._of_source.get("", []):
                if each.duty != duty:
                    each.wake(now)
        self._looks.hasten()
        self.event.set()

    def is_idle(self) -> bool:
        """Whether there was nothing to do for any of its assignments since the last write of the run."""
        if self.refused is not None and self.refused.word in ("leave", "rest"):
            return True
        return all(each.is_idle(self.activity.writes) for each in self.assignments if not self._waits(each))

    def _lives_on(self, mine: Duty, done: Duty, *, has_written: bool) -> bool:
        """Whether what was done makes it due; of the others a look says more, for many at once."""
        match self.kind:
            case backfill_sweep.NAME:
                return done.is_range and not mine.is_range
            case handoff_intake.NAME:
                return done.worker == backfill_sweep.NAME
            case _:
                return has_written and self.kind == candidate_scan.NAME

    def _is_done(self) -> bool:
        """Of a run of one step each: whether all that may had theirs."""
        return self.refused is not None or all(
            each.has_run or each.held_by or self._waits(each) for each in self.assignments
        )

    def _waits(self, assignment: Assignment) -> bool:
        """Whether it is a range that waits until another range of this thread is swept."""
        return (
            assignment.duty.is_range
            and assignment.lease is None
            and any(each.duty.is_range and each.lease is not None for each in self.assignments)
        )

    def _round(self) -> bool:
        """Keep the leases, then one step, or a look, or a rest; False if there was no connection for it."""
        try:
            connection = self.reconnection.open()
            self._arrange(connection)
            # What refuses it may be over.
            known = self.admission.ask(connection, self.worker) if self.refused else self.admission.answer(self.worker)
            if self._is_refused(connection, known):
                return True
            self._hold_leases(connection)
            if self.endless:
                self._look(connection)
            if (assignment := self._next()) is not None:
                if not self._is_refused(connection, self.admission.ask(connection, self.worker)):
                    self._step(connection, assignment)
            elif self.endless or not self._look(connection):
                self._rest()
        except OneroofError as error:
            kind = error_kinds.kind_of(error)
            if kind == error_kinds.LOST or self.reconnection.is_broken:
                self.reconnection.drop(error)
                self._doubt()
            elif kind == error_kinds.FULL:
                self.tell(Report("server", what=f"{error}; waiting for space"))
                self.activity.over.wait(1.0)
            elif kind not in (error_kinds.SLOW, error_kinds.AGAIN):
                raise
            return False
        return True

    def _doubt(self) -> None:
        """Another server may answer next: the intake finds out whether it has the same rows."""
        if self.kind == handoff_intake.NAME:
            for each in self.assignments:
                each.wake(time.monotonic())

    def _arrange(self, connection: Connection) -> None:
        """Take up new duties, and give up those that are gone or were changed."""
        if (plan := self.plan(self.planned)) is None:
            return
        number, duties = plan
        wanted = {duty.executor: duty for duty in duties}
        kept = {e.duty.executor: e for e in self.assignments if wanted.get(e.duty.executor) == e.duty}
        gone = {e.duty.executor: e for e in self.assignments if e.duty.executor not in kept}
        self.leases.release(connection, list(gone.values()))
        for name, duty in wanted.items():
            if name not in kept:
                # Its finding is cleared by the first step that goes well.
                kept[name] = Assignment(duty, failures=gone[name].failures if name in gone else 0)
                if not (self.once or duty.is_range) and begins_quiet(self.kind, named=self.named):
                    kept[name].is_quiet, kept[name].due = True, NEVER
        of_source = defaultdict(list)
        for each in kept.values():
            of_source[each.duty.source.source_name].append(each)
            if each.duty.is_own_channel:
                of_source[""].append(each)
        self.assignments, self._of_source, self._looks.due = list(kept.values()), dict(of_source), 0.0
        self.planned = number

    def _is_refused(self, connection: Connection, answer: Answer) -> bool:
        """Whether no step may begin now; then keep the leases, or give them back, and wait."""
        if answer.word == "work":
            self.refused = None
            return False
        is_new, self.refused = self.refused != answer, answer
        if is_new:
            self.tell(Report(self.worker, what=answer.why))
        if answer.word == "leave":
            self.leases.release(connection, self.assignments)
        else:
            self.leases.tick(connection, self.assignments, warn=True, at_once=is_new)
        if not self.once:
            self._wait(0.1 if answer.word == "wait" else 0.5)
        return True

    def _hold_leases(self, connection: Connection) -> None:
        had = self.leases.share_out(connection, self.assignments, plan=self.planned)
        if had:
            self._looks.due = 0.0
            self._looks.begin(connection, had)
        self.leases.tick(connection, self.assignments, warn=False)

    def _next(self) -> Assignment | None:
        """The assignment that is due first."""
        now = time.monotonic()
        if now < self.admission.free_at(self.worker):
            return None
        ready = (each for each in self.assignments if each.lease is not None and each.due <= now)
        if self.once:
            ready = (each for each in ready if not each.has_run)
        return min(ready, key=lambda each: each.due, default=None)

    def _look(self, connection: Connection) -> bool:
        """One look at all that is quiet, if it is time for one."""
        writes = self.activity.writes
        if self.once or time.monotonic() < self._looks.due or (not self.endless and self.is_idle()):
            return False
        quiet = [each for each in self.assignments if each.lease is not None and each.is_quiet]
        if quiet:
            self._looks.look(connection, quiet, writes=writes, interval=self._interval)
        return bool(quiet)

    @property
    def _interval(self) -> float:
        return self.admission.policies[self.worker].sweep_interval

    def _rest(self) -> None:
        """Until the next assignment is due, a lease wants its tick, or it is time for a look; or until woken."""
        held = [each for each in self.assignments if each.lease is not None]
        free_at = self.admission.free_at(self.worker)
        wanted = [max(each.due, free_at) for each in held if not (self.once and each.has_run)]
        wanted.append(self.leases.tick_at)
        if any(each.is_quiet for each in held) and (self.endless or not self.is_idle()):
            wanted.append(self._looks.due)
        # By then its hours may have begun or ended.
        self._wait(min(max(min(wanted, default=NEVER) - time.monotonic(), 0.002), LONGEST_LOOK))

    def _wait(self, seconds: float) -> None:
        self.event.wait(seconds)
        self.event.clear()

    def _step(self, connection: Connection, assignment: Assignment) -> None:
        """One step of one assignment, and when it is due again."""
        with self.activity.lock:
            if self.activity.over.is_set():
                return
            assignment.is_in_step, assignment.is_woken, writes = True, False, self.activity.writes
        try:
            began = time.monotonic()
            step = self._running(connection, assignment).run_once()
        except HeldElsewhere as held:
            self.leases.lose(connection, assignment, str(held))
        except OneroofError as error:
            if error_kinds.kind_of(error) in (error_kinds.LOST, error_kinds.FULL) or self.reconnection.is_broken:
                self.admission.note(self.worker, failed=True)
                raise
            self._failed(connection, assignment, error, writes)
        else:
            assignment.ticked = began
            self._note(connection, assignment, step, writes)
        finally:
            assignment.is_in_step = False

    def _note(self, connection: Connection, assignment: Assignment, step: Step, writes: int) -> None:
        self.reconnection.hold()
        self.admission.note(self.worker, failed=False)
        if assignment.failures:
            kinds = ("cursor_source_error", "cursor_watermark_regression")
            worker_findings.clear_of(connection, assignment.duty, *kinds)
        assignment.failures, assignment.trouble, assignment.has_run = 0, None, True
        now = time.monotonic()
        if step.idle:
            assignment.idle_since = writes
            self._quieten(assignment, step, now)
        else:
            assignment.idle_since = None
            self.admission.spend(self.worker, step.seen)
            free_at = self.admission.free_at(self.worker)
            assignment.worked_at(now, rest=step.rest, free_at=free_at, has_seen=step.seen > 0)
            # A step that only waits has written nothing.
            if not step.rest:
                self.activity.wrote(assignment.duty, step)
        self.tell(Report(assignment.duty.executor, step=step))

    def _quieten(self, assignment: Assignment, step: Step, now: float) -> None:
        follows = self.kind not in (backfill_sweep.NAME, periodic_full_audit.NAME, handoff_intake.NAME)
        # How long there can be nothing for it; a run that ends does not wait that long to know.
        rest = step.rest if self.endless else 0.0
        assignment.rested_at(
            now,
            rest=max(rest, GATHER if (follows and self.endless) or assignment.duty.is_own_channel else 0.0),
            latest=self._latest(assignment, now),
            asks=self.endless and self.kind == handoff_intake.NAME,
            patient=self.endless,
        )
        if assignment.duty.is_range:
            self.leases.reckon_again()

    def _latest(self, assignment: Assignment, now: float) -> float:
        """After how many seconds it runs by itself. Looks at our own tables are exact. The server's counters come late
        and may be lost, so the intake makes a frontier pass now and then, and one after the last news.
        """
        if self.kind != handoff_intake.NAME or not self.endless:
            return NEVER
        if assignment.counted is None or assignment.counted < 0 or now - assignment.worked < self._interval:
            return self._interval
        # Then as rarely as may be: with many sources these passes are most of what an idle process does.
        return max(self._interval * pass_schedule.BELIEVED, self.admission.policies[self.worker].lag_limit / 2)

    def _running(self, connection: Connection, assignment: Assignment) -> Worker:
        assert assignment.lease is not None
        rules = self.admission.policies[self.worker]
        batch = min(rules.batch_size, rules.rows_per_second or rules.batch_size)
        if self.part == handoff_signals.PART:
            batch = min(batch, handoff_signals.BATCH)
        if assignment.running is None or assignment.batch != batch:
            assignment.running = self.build(connection, assignment.duty, assignment.lease, batch, self._looks.refresh)
            assignment.batch = batch
        if assignment.running.connection is not connection:
            assignment.running.connection = connection
        return assignment.running

    def _failed(self, connection: Connection, assignment: Assignment, error: OneroofError, writes: int) -> None:
        self.admission.note(self.worker, failed=True)
        assignment.failed_at(time.monotonic(), wait=min(LONGEST_WAIT, 0.5 * 2**assignment.failures))
        assignment.idle_since, assignment.has_run = writes, True
        if assignment.trouble != str(error):
            assignment.trouble = str(error)
            self.tell(Report(assignment.duty.executor, what=assignment.trouble))
        regressed = getattr(error.__cause__, "sqlstate", None) == REGRESSION
        kind = "cursor_watermark_regression" if regressed else "cursor_source_error"
        worker_findings.raise_of(connection, kind, assignment.duty, str(error), instance=self.leases.instance)
        self.leases.tick(connection, [assignment], warn=True, at_once=True)

    def _end(self) -> None:
        # A connection that was cut or interrupted cannot give anything back; then the leases run out.
        if (connection := self.reconnection.connection) is not None:
            with suppress(OneroofError):
                for each in self.assignments:
                    self.leases.make_peace(connection, each)
                self.leases.release(connection, self.assignments)
            self.reconnection.close()
