"""Ahead: pieces of a walk that one reading of headers has found, and whose turn is still to come.

They hold for the window they were found in, for the files that its rows lay in then, and for where the cursor is: a
piece whose turn it is not, since one before it failed or somebody else moved the cursor, is looked for again. What has
become of a row since is seen when it is read; what has come since is of the next window. A long range is read in
halves, by two connections, if there is a way to open a second one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from oneroof import aside, strip, window
from oneroof.asking import Asking
from oneroof.cursor import Cursor, Ground
from oneroof.db import Connection
from oneroof.strip import Piece
from oneroof.tail import SLOTS
from oneroof.width import Width
from oneroof.window import At
from oneroof.worker import SETTINGS

# How many batches one reading finds, where nobody waits.
BATCHES = 4
# Pages of the walk, and rows of them, between two looks at the newest rows while there are any.
BUSY_PAGES, BUSY_ROWS = 128, 500
# A range of fewer pages is not worth a connection.
LONG = 4_096
Rehearse = Callable[[Piece], object]


@dataclass(slots=True)
class Ahead:
    """The next pieces of one source's walk; `wide` is how many ctids to read at once."""

    asking: Asking
    batch: int
    dial: Callable[[], Connection] | None = None
    wide: Width = field(default_factory=strip.width, init=False)
    _pieces: deque[Piece] = field(default_factory=deque, init=False)
    _of: tuple[object, ...] = field(default=(), init=False)

    @property
    def has_more(self) -> bool:
        """Whether the next piece is known."""
        return bool(self._pieces)

    def next(
        self, connection: Connection, here: Cursor, at: At, ground: Ground, *, busy: bool, rehearse: Rehearse
    ) -> Piece:
        """The piece that begins where the walk is. Where nobody waits several are found at once; while there is news,
        or a backlog of it, one is, and soon: the fast lane has met most of what is there, and wants its turn. While the
        second connection reads, the first rehearses what it is to do, with a piece that has nothing in it.
        """
        of = here.window_horizon, at["files"], busy
        if not self._pieces or self._of != of or self._pieces[0].first != at["tid"]:
            self._pieces, self._of = deque(self._find(connection, here, at, ground, busy=busy, rehearse=rehearse)), of
        piece = self._pieces.popleft()
        if piece.rows:
            # Half of it, where it fails.
            self.wide.now = piece.last - piece.first
        return piece

    def _find(
        self, connection: Connection, here: Cursor, at: At, ground: Ground, *, busy: bool, rehearse: Rehearse
    ) -> list[Piece]:
        first, bounds = at["tid"], window.bounds(here, at)
        end = window.reach(at, ground, pages=BUSY_PAGES if busy else strip.PAGES)
        size, most = self.batch, self.batch * BATCHES
        if busy:
            last = min(first + self.wide.now, end)
            if not strip.count(connection, self.asking.counting(here, bounds), first=first, last=last):
                return [Piece(first, last, rows=0)]
            size = most = min(BUSY_ROWS, self.batch)
        finding = self.asking.finding(here, bounds)

        def find(by: Connection, first: int, end: int) -> list[Piece]:
            return strip.find_pieces(by, finding, first=first, end=end, wide=self.wide, batch=size, most=most)

        def ours() -> list[Piece]:
            pieces = find(connection, first, middle)
            rehearse(Piece(first, first, rows=0))
            return pieces

        end = min(first + self.wide.now, end)
        middle = first + (end - first) // 2 // SLOTS * SLOTS
        if busy or self.dial is None or middle == first or end - first < LONG * SLOTS:
            return find(connection, first, end)
        found, rest = aside.together(
            self.dial,
            ours,
            lambda other: find(other, middle, end),
            doing=f"tailing {self.asking.source.source_name}",
            settings=SETTINGS,
        )
        if rest is None:
            # The run is a short one, and what was not to be had a moment ago is not asked for again and again.
            self.dial = None
            return found
        # Where there is more than one reading may find, what lies behind it is for the next.
        if found[-1].last < middle:
            return found
        return strip.joined([*found, *rest], batch=size)
