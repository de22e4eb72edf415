"""A walk over a table's pages from the first to the last, in pieces that hold at most a batch (design: the tail).

A piece is a range of ctids, of which the count reads headers alone; one that holds too many rows is cut where a batch
of them ends, before they are read. A rewrite of the table (VACUUM FULL, CLUSTER) moves rows to where the walk has been:
the mark of its files tells, and the walk begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oneroof import tail
from oneroof.db import Connection, execute
from oneroof.tail import SLOTS
from oneroof.width import Width

# Pages at once where nobody has news: read in less than a tenth of a second, so that the first to come waits no longer.
PAGES = 16_384
SMALL = 256


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of ctids, as numbers, and how many rows of the window it holds."""

    first: int
    last: int
    rows: int

    @property
    def shape(self) -> str:
        """What of it is in the text of a statement: nothing but that it is a range of ctids."""
        return "ctids"

    def parameters(self) -> dict[str, Any]:
        return {"first": tail.tid(self.first), "last": tail.tid(self.last)}


@dataclass(frozen=True, slots=True)
class Counting:
    """How the rows of a window are counted, and cut: statements, and what they are given beside the range."""

    statement: bytes
    cut: bytes
    given: dict[str, Any]


def width() -> Width:
    """How many ctids to take at once."""
    return Width(most=PAGES * SLOTS)


def is_still(connection: Connection, counting: Counting, *, blocks: int) -> bool:
    """Whether a small table has no row of a window at all: one read of its headers."""
    return blocks <= SMALL and count(connection, counting, first=0, last=blocks * SLOTS) == 0


def count(connection: Connection, counting: Counting, *, first: int, last: int) -> int:
    """Rows of a window from one ctid to another."""
    given = {**counting.given, **Piece(first, last, rows=0).parameters()}
    row = execute(connection, counting.statement, given).fetchone()
    assert row is not None
    return int(row[0])


def next_piece(connection: Connection, counting: Counting, *, first: int, end: int, wide: Width, batch: int) -> Piece:
    """The next piece of a walk, which holds no more than a batch, or is a single ctid."""
    last = min(first + wide.now, end)
    rows = count(connection, counting, first=first, last=last)
    if rows <= batch or last - first <= 1:
        return Piece(first, last, rows)
    given = {**counting.given, **Piece(first, last, rows).parameters(), "most": batch}
    found = execute(connection, counting.cut, given).fetchone()
    # Gone since they were counted; what has come since is of the next window.
    if found is None or found[0] is None:
        return Piece(first, last, rows=0)
    last, rows = tail.position(found[0]), int(found[1])
    if last <= first:
        return Piece(first, first + 1, count(connection, counting, first=first, last=first + 1))
    wide.now = last - first
    return Piece(first, last, rows)
