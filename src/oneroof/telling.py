"""Telling: which windows of a change log or a register to tell at this moment, if any (doc 32 §5, steps 3 and 5).

A window is told when it is over and all of its source that there is was read: the next batch, half of a batch or piece
of the walk may have more of it. Nothing waits for ever: what has waited too long is told while rows are read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from oneroof.handoff import ALL, OVER, WAITING
from oneroof.source import INVENTORY, Source

# Seconds between two questions whether something has waited too long, while rows are read.
ASKING = 1.0


@dataclass(slots=True)
class Telling:
    """What an intake knows of it: whether a window is over that was not told, whether the last batch of newest rows was
    a full one, and whether the walk that is under way has found rows.
    """

    source: Source
    is_due: bool = False
    is_full: bool = False
    has_found: bool = False
    _asked: float = field(default=float("-inf"), init=False)

    def which(self, *, everything: bool, trying: bool) -> str | None:
        """The windows to tell, none where nothing is to be told; `trying` means that what failed is tried again."""
        if not (everything or (self.is_due and self.source.source_kind != INVENTORY)):
            return None
        if not (self.is_full or self.has_found or trying):
            return ALL if everything else OVER
        if time.monotonic() < self._asked + ASKING:
            return None
        self._asked = time.monotonic()
        return WAITING
