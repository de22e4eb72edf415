"""A pass over a table's pages from the first to the last, in pieces that hold at most a batch (design: the tail).

A piece is a range of ctids, of which the count reads headers alone; one that holds too many rows is cut where a batch
of them ends, before they are read. Where few rows of many are wanted their ctids are found instead, and the rows are
then read there. A rewrite of the table (VACUUM FULL, CLUSTER) moves rows to where the pass has been: the mark of its
files tells, and the pass begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg.rows import TupleRow

from oneroof.database.connection import Connection
from oneroof.database.statements import execute
from oneroof.failures.batch_size import Width
from oneroof.tail import row_queries
from oneroof.tail.row_queries import SLOTS

# Pages at once: their headers are read in less than a tenth of a second.
PAGES = 16_384


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of ctids, as numbers, how many rows of the window it holds, and where, if they were looked for."""

    first: int
    last: int
    rows: int
    tids: str = "{}"

    @property
    def shape(self) -> str:
        """What of it is in the text of a statement: nothing but that it is a range of ctids."""
        return "ctids"

    def parameters(self) -> dict[str, Any]:
        return {"first": row_queries.tid(self.first), "last": row_queries.tid(self.last), "tids": self.tids}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the rows of a window in a range: a statement, and what it is given beside the range."""

    statement: bytes
    given: dict[str, Any]

    def ask(self, connection: Connection, piece: Piece, **more: Any) -> list[TupleRow]:
        """What it says of a range."""
        return execute(connection, self.statement, {**self.given, **piece.parameters(), **more}).fetchall()


def width(pages: int = PAGES) -> Width:
    """How many ctids to take at once."""
    return Width(most=pages * SLOTS)


def count(connection: Connection, counting: Question, *, first: int, last: int) -> int:
    """Rows of a window from one ctid to another."""
    return int(counting.ask(connection, Piece(first, last, rows=0))[0][0])


def next_piece(
    connection: Connection, counting: Question, cutting: Question, *, first: int, end: int, wide: Width, batch: int
) -> Piece:
    """The next piece of a pass, which holds no more than a batch, or is a single ctid."""
    last = min(first + wide.now, end)
    rows = count(connection, counting, first=first, last=last)
    if rows <= batch or last - first <= 1:
        return Piece(first, last, rows)
    ((cut, before),) = cutting.ask(connection, Piece(first, last, rows), most=batch)
    # Gone since they were counted; what has come since is of the next window.
    if cut is None:
        return Piece(first, last, rows=0)
    last, rows = row_queries.position(cut), int(before)
    if last <= first:
        return Piece(first, first + 1, count(connection, counting, first=first, last=first + 1))
    wide.now = last - first
    return Piece(first, last, rows)


def find_piece(connection: Connection, finding: Question, *, first: int, last: int, most: int) -> Piece:
    """The next piece of a pass by one reading of headers: up to `last`, or as far as there are `most` rows; or a single
    ctid.
    """
    ((cut, tids, rows),) = finding.ask(connection, Piece(first, last, rows=0), most=most)
    last = last if cut is None else row_queries.position(cut)
    if last <= first:
        return Piece(first, first + 1, rows=1, tids=f'{{"{row_queries.tid(first)}"}}')
    return Piece(first, last, int(rows), str(tids or "{}"))
