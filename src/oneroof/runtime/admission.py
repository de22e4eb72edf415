"""Admission: whether a worker may work at this moment (doc 31 §11, doc 39 §39.6): gate, pause, hours, load and rate.

The gate, the pause and the policies are rows, the load is what the server shows. One look serves all threads of a
process. A worker works, waits for calmer times or rests until its hours (both keep the lease and tick), or leaves: it
gives its leases back.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.fence.lease import Lease
from oneroof.runtime import policy
from oneroof.runtime.load_guard import Load, LoadGuard
from oneroof.runtime.policy import Policy

GATE = "governance.workers_enabled"
# How old, in seconds, what is known of gate and load may be when a step begins: without it, every step would ask anew.
FRESH = 0.1
Word = Literal["work", "wait", "rest", "leave"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker may do now, and why it may not work."""

    word: Word
    why: str | None = None


WORK = Answer("work")


@dataclass(slots=True)
class Admission:
    """What one process knows of gate, policies and load."""

    policies: dict[str, Policy] = field(default_factory=dict, init=False)
    gate_open: bool = field(default=False, init=False)
    _free_at: dict[str, float] = field(default_factory=dict, init=False)
    _guards: defaultdict[str, LoadGuard] = field(default_factory=lambda: defaultdict(LoadGuard), init=False)
    _load: Load = field(default=Load(lock_waits=0, replication_lag=None), init=False)
    _looked: float = field(default=float("-inf"), init=False)
    _looking: threading.Lock = field(default_factory=threading.Lock, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def read(self, connection: Connection) -> None:
        """Read the policies and the gate, in the transaction under way."""
        self.policies = policy.read(connection)
        (self.gate_open,) = one(connection, queries("runtime/admission")["gate"], {"gate": GATE})

    def ask(self, connection: Connection, worker: str) -> Answer:
        """May this worker take a step? If another thread looks at the load at this moment, by what is known."""
        if time.monotonic() - self._looked >= FRESH and self._looking.acquire(blocking=False):
            try:
                self._look(connection)
                self._looked = time.monotonic()
            finally:
                self._looking.release()
        return self.answer(worker)

    def answer(self, worker: str) -> Answer:
        """The same by what is known, without a look."""
        rules = self.policies[worker]
        if not self.gate_open:
            return Answer("leave", f"the gate {GATE} is closed")
        if rules.is_paused:
            return Answer("leave", f"paused by {rules.paused_by}")
        if not rules.in_window(datetime.now(UTC).time()):
            return Answer("rest", f"works from {rules.off_peak_from} to {rules.off_peak_to} UTC")
        with self._lock:
            reason = self._guards[worker].look(self._load, rules, now=time.monotonic())
        return WORK if reason is None else Answer("wait", reason)

    def note(self, worker: str, *, failed: bool) -> None:
        """A batch went well, or did not."""
        with self._lock:
            self._guards[worker].note(failed=failed)

    def spend(self, worker: str, rows: int) -> None:
        """Rows that a worker took: with a rate limit its threads rest together until they are paid for."""
        rate = self.policies[worker].rows_per_second
        if rate:
            with self._lock:
                self._free_at[worker] = max(time.monotonic(), self._free_at.get(worker, 0.0)) + rows / rate

    def free_at(self, worker: str) -> float:
        """When a worker may take more."""
        return self._free_at.get(worker, 0.0) if self.policies[worker].rows_per_second else 0.0

    def ttl(self, worker: str, held: Lease) -> float:
        """For how long a tick is good: as long as the lease says, or the policy, if that was changed since."""
        return min(held.ttl, self.policies[worker].lease_ttl)

    def _look(self, connection: Connection) -> None:
        with transaction(connection, doing="looking at the load", read_only=True, statement_timeout=5):
            self.gate_open, waits, lag = one(connection, queries("runtime/admission")["look"], {"gate": GATE})
        self._load = Load(lock_waits=waits, replication_lag=None if lag is None else int(lag))
