"""What one intake knows of the open set: the latest xid in it, and how far it is forgotten
(docs/explanation/tail/frontier.md).

Versions that the frontier has passed are forgotten a few at a time. Until a vacuum has come by, deleted entries still
lie in the way of a search from the beginning; so each round begins where the last finished one ended: nothing is
remembered below the frontier of that, unless a window took in rows from before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.fence import cursor
from oneroof.fence.cursor import Cursor, Pruned


@dataclass(slots=True)
class OpenSet:
    """What the holder of the lease knows of the open set; only the holder adds to it. An attempt changes nothing here:
    what it has done counts when it was committed.
    """

    # The latest xid that is remembered; None until it is read.
    latest: int | None = field(default=None, init=False)
    _behind: Pruned | None = field(default_factory=Pruned, init=False)
    _gone_below: int = field(default=0, init=False)

    @property
    def has_passed(self) -> bool:
        """Whether versions may be remembered that the frontier has passed."""
        return self._behind is not None

    def read(self, connection: Connection, here: Cursor) -> int:
        """The latest xid that is remembered: no later one need be looked up."""
        if self.latest is None:
            (self.latest,) = one(connection, queries("tail/forgetting")["remembered"], {"cursor": here.cursor_id})
        return self.latest or 0

    def add(self, xids: list[int]) -> None:
        """Versions of these transactions are remembered now."""
        if self.latest is not None:
            self.latest = max([self.latest, *xids])

    def pass_frontier(self, *, everything: bool) -> None:
        """The frontier has moved; `everything` if what lay below it before was looked at too."""
        if everything:
            self._gone_below = 0
        # Where nothing was remembered since the last round there is nothing to forget.
        if self.latest is None or self._gone_below <= self.latest or self._behind is not None:
            gone = max(0, self._gone_below - 1)
            self._behind = Pruned(xid=gone, span=gone)

    def forget(self, connection: Connection, here: Cursor, *, most: int) -> Pruned | None:
        """Forget some more; what was done, for `forgotten` once it is committed."""
        if self._behind is None or here.frontier is None:
            return None
        self.read(connection, here)
        return cursor.prune(connection, here, behind=self._behind, most=most)

    def forgotten(self, done: Pruned, *, most: int, frontier: int) -> None:
        """That many were forgotten; fewer than were asked for means all."""
        self._behind = done if most in (done.gone, done.spans) else None
        if self._behind is None:
            self._gone_below = frontier
