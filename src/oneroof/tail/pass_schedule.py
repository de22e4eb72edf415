"""When the next pass over a table is due: after an interval, and later while the server has counted no write.

The counters come a moment late, are lost with a crash and can be turned off, so they prove nothing: they are believed
for a few intervals, and then the table is passed over all the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from oneroof.tail.table_files import Ground

# For how many intervals the counters are believed.
BELIEVED = 6
# A pass may take one part in so many of the time, however long the table is.
SHARE = 20


@dataclass(slots=True)
class Lull:
    """What a table looked like when the last pass over it began; `at_once` means that the first pass does not wait."""

    interval: float
    at_once: bool = False
    # Passes that this process has begun and that have ended; one that another had begun may have missed what changed
    # since.
    passes: int = field(default=0, init=False)
    # How long reading has taken in the last pass: a matter of the table, not of what there was to do.
    seconds: float = field(default=0.0, init=False)
    _is_ours: bool = field(default=False, init=False)
    _began: Ground | None = field(default=None, init=False)
    _asked: float = field(default=float("-inf"), init=False)

    def begin(self, ground: Ground) -> None:
        """A pass begins."""
        self._began, self._is_ours, self._asked, self.seconds = ground, True, float("-inf"), 0.0

    def end(self) -> None:
        """A pass is over."""
        self.passes, self._is_ours = self.passes + self._is_ours, False

    def is_due(self, *, rested: float) -> bool:
        """Whether it is time for the next pass, the last one being so many seconds ago."""
        return (self.at_once and not self.passes) or self.rest(rested=rested) <= 0

    def rest(self, *, rested: float) -> float:
        """In how many seconds the next pass is due."""
        pause = max(self.interval, self.seconds * SHARE if self.interval else 0)
        return max(pause - rested, self._asked + self.interval - time.monotonic(), 0.0)

    def lasts(self, ground: Ground, *, rested: float) -> bool:
        """Whether nothing was written since, the last pass being so many seconds ago."""
        if ground.written is None or ground != self._began or rested >= BELIEVED * self.interval:
            return False
        self._asked = time.monotonic()
        return True
