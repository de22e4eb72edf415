"""What the fast lane need not look at again."""

from __future__ import annotations

from dataclasses import dataclass

from oneroof.tail import EPOCH


@dataclass(frozen=True, slots=True)
class Known:
    """Transactions whose newest rows the fast lane has all applied: each below an xid, and some others.

    A pass that one statement makes sees every row, from its beginning on, of whoever was finished before it; the next
    pass may leave them out if it begins no earlier. Whatever that overlooks is the frontier's, and the open set holds
    all the same.
    """

    below: int = 0
    others: frozenset[int] = frozenset()

    @property
    def text(self) -> str:
        """The others as an array of 32-bit xids."""
        return "{" + ",".join(str(xid % EPOCH) for xid in self.others) + "}"

    def after(self, horizon: int, xids: list[int]) -> Known:
        """After a pass that began when everybody below the horizon was finished, and met rows of some."""
        return Known(below=horizon, others=frozenset(xid for xid in self.others.union(xids) if xid >= horizon))
