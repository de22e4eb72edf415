"""Control: whether a worker may work at this moment, asked before every batch, looked up at most ten times a second, or
once where nobody has any work.

The gate, the pause and the policies are rows; the load is what the server shows. One look serves all lanes of a
process. A worker works, waits for calmer times or rests until its hours (both keep the lease and tick), or leaves
(gives its lease back).
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from oneroof import policy, watch
from oneroof.connection import Connection
from oneroof.guard import Guard, Load
from oneroof.lease import Lease
from oneroof.policy import Policy
from oneroof.statements import one, queries
from oneroof.transaction import transaction

GATE = "governance.workers_enabled"
# How old what is known of gate and load may be, and of the policies, while there is work and while there is none.
FRESH, CALM = 0.1, 1.0
# How many times as old for those who have news at this moment.
PATIENCE = 2
POLICY_FRESH, POLICY_CALM = 1.0, 2.0
# For how long a source counts as pressed after it was, and for how long others wait for it at most.
PRESSED, LONGEST = 0.25, 60.0
# For how long a source counts as led, or swept, after it was.
LED = 3.0
Word = Literal["work", "wait", "rest", "leave"]


@dataclass(frozen=True, slots=True)
class Leave:
    """What a worker may do now, and why it may not work."""

    word: Word
    why: str | None = None


WORK = Leave("work")


@dataclass(slots=True)
class Control:
    """What one process knows of gate, policies and load."""

    policies: dict[str, Policy] = field(default_factory=dict, init=False)
    gate_open: bool = field(default=False, init=False)
    _free_at: dict[str, float] = field(default_factory=dict, init=False)
    _guards: defaultdict[str, Guard] = field(default_factory=lambda: defaultdict(Guard), init=False)
    _load: Load = field(default=Load(lock_waits=0, replication_lag=None), init=False)
    _begun: set[str] = field(default_factory=set, init=False)
    _met: dict[str, float] = field(default_factory=dict, init=False)
    _led: dict[str, float] = field(default_factory=dict, init=False)
    _is_over: dict[str, bool] = field(default_factory=dict, init=False)
    _swept: dict[str, float] = field(default_factory=dict, init=False)
    _pressed: dict[str, tuple[float, float]] = field(default_factory=dict, init=False)
    _worked: float = field(default_factory=time.monotonic, init=False)
    _looked: float = field(default=0.0, init=False)
    _read: float = field(default=0.0, init=False)
    _watched: float = field(default=0.0, init=False)
    _looking: threading.Lock = field(default_factory=threading.Lock, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def ask(self, connection: Connection, worker: str, *, hot: bool = False) -> Leave:
        """May this worker work? One that is hot leaves it to others, for a while, to look."""
        # Whoever comes while another looks makes do with what is known, so that one slow connection holds up nobody.
        if self._looking.acquire(blocking=not self.policies):
            try:
                self._refresh(connection, patience=PATIENCE if hot else 1)
            finally:
                self._looking.release()
        with self._lock:
            return self._judge(worker, now=time.monotonic())

    def _refresh(self, connection: Connection, *, patience: int) -> None:
        now = time.monotonic()
        calm = now - self._worked >= 1
        if now - self._looked >= patience * (CALM if calm else FRESH):
            self._look(connection)
            self._looked = now
        if now - self._read >= patience * (POLICY_CALM if calm else POLICY_FRESH):
            self.policies = policy.read(connection)
            self._read = now

    def note(self, worker: str, *, failed: bool) -> None:
        """A batch went well, or did not."""
        with self._lock:
            self._guards[worker].note(failed=failed)

    def spend(self, worker: str, rows: int) -> None:
        """Rows that a worker took: with a rate limit its lanes rest together until they are paid for."""
        self._worked = time.monotonic()
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

    def lead(self, source: str, *, over: bool = False) -> None:
        """The intake of a source runs here: what there is to do for others comes from it. If that is over, nothing
        presses any more.
        """
        self._led[source] = time.monotonic()
        self._is_over[source] = over
        if over:
            self.ease(source)

    def is_led(self, source: str) -> bool:
        """Whether it did a moment ago."""
        return time.monotonic() - self._led.get(source, float("-inf")) < LED

    def is_early(self) -> bool:
        """Whether no intake has come to its end here, be it of one source, and one may be under way."""
        return not any(self._is_over.values()) and (bool(self._is_over) or not self._begun)

    def is_leading(self, source: str) -> bool:
        """Whether it runs here and has not come to its end."""
        return not self._is_over.get(source, True)

    def sweep(self, source: str, *, over: bool) -> None:
        """A sweep of a source is under way here, or over."""
        self._swept[source] = float("-inf") if over else time.monotonic()

    def is_swept(self, source: str) -> bool:
        """Whether one was a moment ago."""
        return time.monotonic() - self._swept.get(source, float("-inf")) < LED

    def begin(self, executor: str) -> None:
        """An executor has had a turn, whatever came of it."""
        self._begun.add(executor)

    def has_begun(self, executor: str) -> bool:
        return executor in self._begun

    def meet(self, source: str) -> None:
        """There was news of a source."""
        self._met[source] = time.monotonic()

    def has_met(self, source: str) -> bool:
        """Whether there was a moment ago."""
        return time.monotonic() - self._met.get(source, float("-inf")) < PRESSED

    def press(self, source: str, *, lasting: float = PRESSED) -> None:
        """Rows of a source come in faster than one by one: what can wait, waits for so many seconds."""
        with self._lock:
            first, until = self._pressed.get(source, (0.0, 0.0))
            now = time.monotonic()
            self._pressed[source] = (first if now < until else now, now + lasting)

    def ease(self, source: str) -> None:
        """It is over."""
        with self._lock:
            self._pressed.pop(source, None)

    def is_pressed(self, source: str) -> bool:
        """Whether that is so, and has not been for too long to wait any longer."""
        first, until = self._pressed.get(source, (0.0, 0.0))
        now = time.monotonic()
        return now < until and now - first < LONGEST

    def put_off(self) -> None:
        """A run that is to end watches then in any case: before that, it does not begin with it."""
        self._watched = time.monotonic()

    def watch(self, connection: Connection, *, hot: bool = False) -> None:
        """Look after everybody's cursors now and then, whoever of us comes first and has time."""
        with self._lock:
            # A gap is to be found within two TTLs, the first one and a half of which it takes to be one.
            shortest = min((rules.lease_ttl for rules in self.policies.values()), default=watch.INTERVAL)
            if time.monotonic() - self._watched < min(watch.INTERVAL, shortest / 4) * (PATIENCE if hot else 1):
                return
            self._watched = time.monotonic()
        watch.watch(connection)

    def _look(self, connection: Connection) -> None:
        with transaction(connection, doing="looking at the load", read_only=True, statement_timeout=5):
            self.gate_open, waits, lag = one(connection, queries("control")["look"], {"gate": GATE})
        self._load = Load(lock_waits=waits, replication_lag=None if lag is None else int(lag))

    def _judge(self, worker: str, *, now: float) -> Leave:
        rules = self.policies[worker]
        if not self.gate_open:
            return Leave("leave", f"the gate {GATE} is closed")
        if rules.is_paused:
            return Leave("leave", f"paused by {rules.paused_by}")
        if not rules.in_window(datetime.now(UTC).time()):
            return Leave("rest", f"works from {rules.off_peak_from} to {rules.off_peak_to} UTC")
        reason = self._guards[worker].look(self._load, rules, now=now)
        return WORK if reason is None else Leave("wait", reason)
