"""How much a worker takes at once: as much as goes well, and half of it where something fails.

Halving is the bisection of a batch that holds poison (promise 10): log₂ n steps until the item is alone, while all that
stands before it is committed on the way; doubling finds back to the full batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Width:
    """A number between one and `most`."""

    most: int
    now: int = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.most

    def narrow(self) -> bool:
        """Halve; False if it was one already."""
        if self.now == 1:
            return False
        self.now = (self.now + 1) // 2
        return True

    def widen(self) -> None:
        """Double, up to the most."""
        self.now = min(self.most, self.now * 2)
