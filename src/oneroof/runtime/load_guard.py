"""The load guard (doc 31 §11, promise 15): work pauses while the server or we ourselves are in trouble.

Above a limit it pauses; it resumes only when things have been at half of it or below for a while, so that it does not
flutter. Pure: it is told what was seen and when, and answers why not to work, or None.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from oneroof.runtime.policy import Policy

CALM = 2.0
RECENT = 20
ENOUGH = 10


@dataclass(frozen=True, slots=True)
class Load:
    """What the server shows: sessions that wait for locks, and by how many bytes a standby is behind, if known."""

    lock_waits: int
    replication_lag: int | None


@dataclass(slots=True)
class LoadGuard:
    """The guard of one worker."""

    _reason: str | None = field(default=None, init=False)
    _calm_since: float | None = field(default=None, init=False)
    _outcomes: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT), init=False)

    def note(self, *, failed: bool) -> None:
        """A batch of ours went well, or did not."""
        self._outcomes.append(failed)

    def look(self, load: Load, policy: Policy, *, now: float) -> str | None:
        """Why not to work now."""
        reason = self._breach(load, policy, scale=1.0)
        if reason is not None:
            self._reason, self._calm_since = reason, None
        elif self._reason is not None:
            # Our own errors cannot grow fewer while we rest; a rest is all they can ask for.
            if self._breach(load, policy, scale=0.5, errors=False) is not None:
                self._calm_since = None
            elif self._calm_since is None:
                self._calm_since = now
            elif now - self._calm_since >= CALM:
                self._reason, self._calm_since = None, None
        return self._reason

    def _breach(self, load: Load, policy: Policy, *, scale: float, errors: bool = True) -> str | None:
        if load.lock_waits > policy.lock_wait_limit * scale:
            return f"{load.lock_waits} sessions wait for locks"
        if load.replication_lag is not None and load.replication_lag > policy.replication_lag_limit * scale:
            return f"a standby is {load.replication_lag:,} bytes behind"
        if errors and len(self._outcomes) >= ENOUGH:
            share = sum(self._outcomes) / len(self._outcomes)
            if share > policy.error_limit:
                self._outcomes.clear()
                return f"{share:.0%} of our own batches failed"
        return None
