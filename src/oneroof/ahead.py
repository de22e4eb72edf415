"""Ahead: pieces of a walk that one reading of headers has found, and whose turn is still to come.

They hold for the window they were found in, for the files that its rows lay in then, and for where the cursor is: a
piece whose turn it is not, since one before it failed or somebody else moved the cursor, is looked for again. What has
become of a row since is seen when it is read; what has come since is of the next window. A long range is read in
parts, of which two connections take the next when they have read one, if there is a way to open a second one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from oneroof import cursor, facts, strip, window
from oneroof.aside import Aside
from oneroof.asking import COMPARING, Asking
from oneroof.cursor import Cursor, Ground
from oneroof.db import Connection
from oneroof.strip import Piece
from oneroof.tail import SLOTS, Bounds
from oneroof.width import Width
from oneroof.window import At
from oneroof.worker import SETTINGS

# How many batches one reading finds, where nobody waits.
BATCHES = 4
# Pages of the walk, and rows of them, between two looks at the newest rows while there are any.
BUSY_PAGES, BUSY_ROWS = 128, 500
# A range of fewer pages is not worth a connection; and of fewer rows, nothing is to be learned before.
LONG, FEW = 4_096, 500
# As many parts has a range that two connections read.
PARTS = 4
# How many sets of facts are learned at once.
LEARNED = facts.JUDGED
# Pages to read at once where nobody waits for anything but the end.
MANY_PAGES = 4 * strip.PAGES
Rehearse = Callable[[Piece], object]


@dataclass(slots=True)
class Ahead:
    """The next pieces of one source's walk; `wide` is how many ctids to read at once."""

    asking: Asking
    batch: int
    dial: Callable[[], Connection] | None = None
    pages: int = strip.PAGES
    # Whether facts that nobody has met are looked for.
    learns: bool = False
    wide: Width = field(init=False)
    _pieces: deque[Piece] = field(default_factory=deque, init=False)
    _of: tuple[object, ...] = field(default=(), init=False)
    # One that reads and writes beside, while there are pieces.
    second: Aside | None = field(default=None, init=False)
    # Where rows lie whose facts nobody has met, and which are to be learned before the pieces are applied.
    unknown: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.wide = strip.width(self.pages)

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

    def expect(self, ground: Ground) -> None:
        """A walk begins: if it is a long one, the second connection is opened meanwhile."""
        if self.dial is not None and self.second is None and min(self.pages, ground.blocks) >= LONG:
            self.second = Aside(self.dial)
            self.second.submit(lambda _: None)

    def is_still(self, connection: Connection, here: Cursor, ground: Ground) -> bool:
        """Whether in a small table, which lies where it lay, nothing is new."""
        counting = self.asking.counting(here, Bounds(frontier=here.frontier, horizon=None))
        is_known = ground.leaves == here.metadata.get("leaves")
        return is_known and strip.is_still(connection, counting, blocks=ground.blocks)

    def glide(self, connection: Connection, here: Cursor, at: At) -> At | None:
        """Where the walk is after some pages in which nothing is new; None, if there are none such."""
        ground = cursor.read_ground(connection, self.asking.source)
        if at["files"] != ground.files or window.is_over(at, ground):
            return None
        counting, last = self.asking.counting(here, window.bounds(here, at)), window.reach(at, ground, pages=BUSY_PAGES)
        return None if strip.count(connection, counting, first=at["tid"], last=last) else {**at, "tid": last}

    def peek(self) -> Piece | None:
        """The piece behind the one whose turn it is, if it is known."""
        return self._pieces[0] if self._pieces else None

    def again(self, piece: Piece) -> None:
        """Something comes before a piece: it is the next one again."""
        self._pieces.appendleft(piece)

    def take_unknown(self) -> list[str]:
        """Where the rows lie whose facts are to be learned; it is told once."""
        unknown, self.unknown = self.unknown, []
        return unknown

    def skip(self) -> None:
        """Somebody else has applied it."""
        self._pieces.popleft()

    def rest(self) -> None:
        """Nobody is wanted any more to read or to write beside."""
        if self.second is not None:
            self.second.rest()
            self.second = None

    def _find(
        self, connection: Connection, here: Cursor, at: At, ground: Ground, *, busy: bool, rehearse: Rehearse
    ) -> list[Piece]:
        first, bounds = at["tid"], window.bounds(here, at)
        end = window.reach(at, ground, pages=BUSY_PAGES if busy else self.pages)
        size, most = self.batch, self.batch * BATCHES
        if busy:
            last = min(first + self.wide.now, end)
            if not strip.count(connection, self.asking.counting(here, bounds), first=first, last=last):
                return [Piece(first, last, rows=0)]
            size = most = min(BUSY_ROWS, self.batch)
        finding = self.asking.finding(here, bounds)

        def find(by: Connection, first: int, end: int, *, few: int) -> tuple[list[Piece], list[str]]:
            pieces = strip.find_pieces(by, finding, first=first, end=end, wide=self.wide, batch=size, most=most)
            # In a full pass most of what is met is as it was.
            if busy or at["full"] or not self.learns or _rows(pieces) < few:
                return pieces, []
            return pieces, strip.find_unknown(by, self.asking.unknown(), pieces, most=LEARNED)

        end = min(first + self.wide.now, end)
        parts = strip.parts(first, end, number=PARTS)
        if busy or self.dial is None or len(parts) == 1 or end - first < LONG * SLOTS:
            pieces, self.unknown = find(connection, first, end, few=FEW)
            return pieces
        waiting, found = deque(parts), list[tuple[int, list[Piece], list[str]]]()

        def take(by: Connection) -> bool:
            while True:
                try:
                    begins, ends = waiting.popleft()
                except IndexError:
                    return True
                pieces, unknown = find(by, begins, ends, few=1)
                found.append((begins, pieces, unknown))
                # Where there is more than one reading may find, what lies behind it is for the next.
                if pieces[-1].last < ends:
                    waiting.clear()

        def ours() -> bool:
            take(connection)
            rehearse(Piece(first, first, rows=0))
            return True

        self.second = self.second or Aside(self.dial)
        doing, settings = f"tailing {self.asking.source.source_name}", {**SETTINGS, **COMPARING}
        _, has_second = self.second.together(ours, take, doing=doing, settings=settings)
        if not has_second:
            # The run is a short one, and what was not to be had a moment ago is not asked for again and again.
            self.rest()
            self.dial = None
        pieces, unmet = [], list[str]()
        for begins, more, unknown in sorted(found, key=lambda part: part[0]):
            if begins == (pieces[-1].last if pieces else first):
                pieces += more
                unmet += unknown
        self.unknown = unmet[:LEARNED] if _rows(pieces) >= FEW else []
        return strip.joined(pieces, batch=_even(pieces, most=size))


def _even(pieces: list[Piece], *, most: int) -> int:
    """How many rows each of an even number of pieces has, so that two at a time can be applied."""
    rows = _rows(pieces)
    pairs = -(-rows // (2 * most))
    return max(1, -(-rows // max(1, 2 * pairs)))


def _rows(pieces: list[Piece]) -> int:
    return sum(piece.rows for piece in pieces)
