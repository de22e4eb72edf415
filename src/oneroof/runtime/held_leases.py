"""The leases that one worker thread holds: claimed, ticked and given back many at a time (promises 7 to 9).

A thread claims what is free up to its instance's share, and gives back what is more. The fence of a batch stays with
the batch; here are only leases that are not being worked on. One that was taken over while it was ours is a finding.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from oneroof.database.connection import Connection
from oneroof.fence import lease
from oneroof.runtime import worker_findings
from oneroof.runtime.admission import Admission
from oneroof.runtime.assignment import NEVER, Assignment
from oneroof.runtime.instances import Instances
from oneroof.runtime.progress import Report


@dataclass(slots=True)
class HeldLeases:
    """Of the assignments of one worker thread."""

    worker: str
    instance: str
    instances: Instances
    admission: Admission
    tell: Callable[[Report], None]
    # What the shares were last reckoned from: the assignments' plan, and what is known of other instances.
    _reckoned: tuple[int | None, int] | None = field(default=None, init=False)
    # When to see again which leases want their tick.
    tick_at: float = field(default=0.0, init=False)

    def share_out(self, connection: Connection, assignments: list[Assignment], *, plan: int | None) -> list[Assignment]:
        """Claim what is free, or give back what is more than this instance's share; those whose lease was had."""
        reckoned = plan, self.instances.news
        if reckoned == self._reckoned:
            return []
        self._reckoned = reckoned
        ranges = [each for each in assignments if each.duty.is_range]
        whole = [each for each in assignments if not each.duty.is_range]
        held = [each for each in whole if each.lease is not None]
        room = self.instances.share(self.worker, executors=len(whole)) - len(held)
        if room < 0:
            # First what has nothing to do.
            self.release(connection, sorted(held, key=lambda each: (not each.is_quiet, self._rank(each)))[:-room])
            return []
        chosen = sorted((each for each in whole if self._is_free(each)), key=self._rank, reverse=True)[:room]
        # A thread sweeps one range at a time, and leaves the others to other threads.
        if not any(each.lease is not None and not each.is_quiet for each in ranges):
            chosen += [each for each in ranges if self._is_free(each)][:1]
        return self._claim(connection, chosen) if chosen else []

    def reckon_again(self) -> None:
        """What it holds, or has work for, has changed."""
        self._reckoned = None

    def tick(self, connection: Connection, assignments: list[Assignment], *, warn: bool, at_once: bool = False) -> None:
        """Keep the leases alive: all together, when the first of them wants it. One that fails ticks with `warn`."""
        now = time.monotonic()
        if not at_once and now < self.tick_at:
            return
        held = [each for each in assignments if each.lease is not None]
        ttl = min((self.admission.ttl(self.worker, each.lease) for each in held if each.lease), default=NEVER)
        self.tick_at = min((each.ticked for each in held), default=now) + ttl / 3
        if not at_once and now < self.tick_at:
            return
        self.tick_at = now + ttl / 6
        old = [each for each in held if at_once or now - each.ticked >= ttl / 6]
        statuses = ["warn" if warn or each.trouble else "ok" for each in old]
        ours = (
            lease.tick_many(connection, [each.lease for each in old if each.lease], statuses=statuses) if old else set()
        )
        for each in old:
            each.ticked = now
            if each.duty.executor not in ours:
                self.lose(connection, each, f"the lease of {each.duty.executor} was lost")

    def lose(self, connection: Connection, assignment: Assignment, why: str) -> None:
        """A lease was taken over while it was ours: a conflict."""
        assignment.lease, assignment.running, assignment.held_by = None, None, why
        assignment.in_conflict = True
        self.reckon_again()
        self.tell(Report(assignment.duty.executor, what=why))
        worker_findings.raise_of(connection, "cursor_lease_conflict", assignment.duty, why, instance=self.instance)

    def release(self, connection: Connection, some: list[Assignment]) -> None:
        """Give leases back. What stays an assignment is claimed again when it is free and within the share."""
        held = [each for each in some if each.lease is not None]
        if not held:
            return
        lease.release_many(connection, [each.lease for each in held if each.lease])
        for each in held:
            each.let_go(held_by="given back" if self.instances.key is not None else None)
        self.reckon_again()

    def make_peace(self, connection: Connection, assignment: Assignment) -> None:
        """The conflict is over."""
        if assignment.in_conflict:
            worker_findings.clear_of(connection, assignment.duty, "cursor_lease_conflict")
            assignment.in_conflict = False

    def _claim(self, connection: Connection, chosen: list[Assignment]) -> list[Assignment]:
        names, ttl = [each.duty.executor for each in chosen], self.admission.policies[self.worker].lease_ttl
        had, held = lease.claim_many(connection, names, instance=self.instance, ttl=ttl)
        now = time.monotonic()
        self.tick_at = now
        for each in chosen:
            each.lease = had.get(each.duty.executor)
            if each.lease is not None:
                each.held_by, each.ticked = None, now
                self.make_peace(connection, each)
            else:
                if each.held_by is None:
                    self.tell(Report(each.duty.executor, what=held[each.duty.executor]))
                each.held_by = held[each.duty.executor]
        # Shares are rounded up, so another one may be free.
        self._reckoned = None if len(had) < len(names) and had else self._reckoned
        return [each for each in chosen if each.lease is not None]

    def _is_free(self, assignment: Assignment) -> bool:
        """Whether it is worth while to claim it: it was never tried, or its lease is known to be free."""
        return assignment.lease is None and (
            assignment.held_by is None or assignment.duty.executor in self.instances.free
        )

    def _rank(self, assignment: Assignment) -> int:
        return self.instances.preference(assignment.duty.source.source_name)
