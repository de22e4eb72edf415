"""Telling: which windows of a change log or a register to tell at this moment, if any (doc 32 §5, steps 3 and 5).

A window is told when it is over and all of its source that there is was read: the next batch, half of a batch or piece
of the frontier pass may have more of it. Nothing waits for ever: what has waited too long is told while rows are read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from oneroof.intake.change_marks import ALL, OVER, WAITING
from oneroof.sources.source import INVENTORY, Source

# Seconds between two questions whether something has waited too long, while rows are read.
ASKING = 1.0


@dataclass(slots=True)
class Telling:
    """When one source was last asked for windows that have waited too long. An inventory has none: its signals are the
    signals thread's.
    """

    source: Source
    _asked: float = field(default=float("-inf"), init=False)

    def which(self, *, everything: bool, is_due: bool, is_reading: bool) -> str | None:
        """The windows to tell, none where nothing is to be told: `is_due` means that a window is over that was not
        told, `is_reading` that the next batch may have more of what is in it.
        """
        if self.source.source_kind == INVENTORY or not (everything or is_due):
            return None
        if not is_reading:
            return ALL if everything else OVER
        if time.monotonic() < self._asked + ASKING:
            return None
        self._asked = time.monotonic()
        return WAITING
