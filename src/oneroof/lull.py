"""A lull between two passes over a table: until the next is due, and for as long as the server has counted no write.

The counters come a moment late, are lost with a crash and can be turned off, so they prove nothing: they are believed
for a few intervals, and then the table is passed over all the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from oneroof.cursor import Ground

# For how many intervals the counters are believed.
BELIEVED = 6
# A pass may take one part in so many of the time, however long the table is.
SHARE = 20


@dataclass(slots=True)
class Lull:
    """What one table looked like when the last pass over it began."""

    interval: float
    # How long the last pass has taken: a matter of the table, not of what there was to do.
    seconds: float = field(default=0.0, init=False)
    _began: Ground | None = field(default=None, init=False)
    _asked: float = field(default=float("-inf"), init=False)

    def begin(self, ground: Ground) -> None:
        """A pass begins."""
        self._began, self._asked, self.seconds = ground, float("-inf"), 0.0

    def is_due(self, *, rested: float) -> bool:
        """Whether it is time for the next pass, the last one being so many seconds ago."""
        return not self.is_known() and rested >= max(self.interval, self.seconds * SHARE if self.interval else 0)

    def is_known(self) -> bool:
        """Whether it was looked for a moment ago, and found."""
        return time.monotonic() - self._asked < self.interval

    def lasts(self, ground: Ground, *, rested: float) -> bool:
        """Whether nothing was written since, the last pass being so many seconds ago."""
        if ground.written is None or ground != self._began or rested >= BELIEVED * self.interval:
            return False
        self._asked = time.monotonic()
        return True
