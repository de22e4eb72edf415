"""Forgetting: versions that are remembered although the frontier has passed them, a little at a time.

Until a vacuum comes by, what was deleted is still in the way of whoever looks for more from the beginning. So each
round of forgetting begins where the last one that was finished ended: nothing is remembered below the frontier of that,
unless a window took in rows from before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from oneroof import cursor
from oneroof.cursor import Cursor, Pruned
from oneroof.db import Connection

# How many to forget at once, with and without news.
BUSY, MOST = 250, 5_000


@dataclass(slots=True)
class Forgetting:
    """How far one source's remembered versions are forgotten."""

    _behind: Pruned | None = field(default_factory=Pruned, init=False)
    _gone_below: int = field(default=0, init=False)

    def begin(self, *, everything: bool) -> None:
        """The frontier has moved; `everything` if what lay below it before was looked at too."""
        gone = 0 if everything else max(0, self._gone_below - 1)
        self._behind = Pruned(xid=gone, span=gone)

    def go_on(self, connection: Connection, here: Cursor, *, busy: bool) -> bool:
        """Forget some more; whether there was any."""
        if self._behind is None or here.frontier is None:
            return False
        most = BUSY if busy else MOST
        done = cursor.prune(connection, here, behind=self._behind, most=most)
        self._behind = done if most in (done.gone, done.spans) else None
        if self._behind is None:
            self._gone_below = here.frontier
        return done.gone + done.spans > 0
