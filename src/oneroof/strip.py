"""A walk over a table's pages from the first to the last, in pieces that hold at most a batch (design: the tail).

A piece is a range of ctids, of which the count reads headers alone; one that holds too many rows is cut where a batch
of them ends, before they are read. Where few rows of many are wanted their ctids are found instead, those of several
pieces by one reading, and the rows are then read there. A rewrite of the table (VACUUM FULL, CLUSTER) moves rows to
where the walk has been: the mark of its files tells, and the walk begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from oneroof import retry, tail
from oneroof.db import Connection, execute
from oneroof.tail import SLOTS
from oneroof.width import Width

# Pages at once where nobody has news: read in less than a tenth of a second, so that the first to come waits no longer.
PAGES = 16_384
SMALL = 256


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

    def each(self) -> list[str]:
        """Where its rows lie."""
        # As an array of them is written.
        return self.tids[2:-2].split('","') if self.rows else []

    def parameters(self) -> dict[str, Any]:
        return {"first": tail.tid(self.first), "last": tail.tid(self.last), "tids": self.tids}


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


def is_still(connection: Connection, counting: Question, *, blocks: int) -> bool:
    """Whether a small table has no row of a window at all: one read of its headers."""
    return blocks <= SMALL and count(connection, counting, first=0, last=blocks * SLOTS) == 0


def count(connection: Connection, counting: Question, *, first: int, last: int) -> int:
    """Rows of a window from one ctid to another."""
    return int(counting.ask(connection, Piece(first, last, rows=0))[0][0])


def next_piece(
    connection: Connection, counting: Question, cutting: Question, *, first: int, end: int, wide: Width, batch: int
) -> Piece:
    """The next piece of a walk, which holds no more than a batch, or is a single ctid."""
    last = min(first + wide.now, end)
    rows = count(connection, counting, first=first, last=last)
    if rows <= batch or last - first <= 1:
        return Piece(first, last, rows)
    ((cut, before),) = cutting.ask(connection, Piece(first, last, rows), most=batch)
    # Gone since they were counted; what has come since is of the next window.
    if cut is None:
        return Piece(first, last, rows=0)
    last, rows = tail.position(cut), int(before)
    if last <= first:
        return Piece(first, first + 1, count(connection, counting, first=first, last=first + 1))
    wide.now = last - first
    return Piece(first, last, rows)


def find_pieces(
    connection: Connection, finding: Question, *, first: int, end: int, wide: Width, batch: int, most: int
) -> list[Piece]:
    """The next pieces of a walk by one reading of headers, which hold no more than a batch each and no more than `most`
    together; or a single ctid.
    """
    last = min(first + wide.now, end)
    found = finding.ask(connection, Piece(first, last, rows=0), batch=batch, most=most)
    cut = found[0][0]
    last = last if cut is None else tail.position(cut)
    if last <= first:
        return [Piece(first, first + 1, rows=1, tids=f'{{"{tail.tid(first)}"}}')]
    batches = [(tail.position(begins), int(rows), str(tids)) for _, begins, tids, rows in found if begins is not None]
    if not batches:
        return [Piece(first, last, rows=0)]
    # What lies before the first row of a batch belongs to the batch before it.
    ends = [*(begins for begins, _, _ in batches[1:]), last]
    firsts = [first, *ends[:-1]]
    return [Piece(firsts[i], ends[i], rows, tids) for i, (_, rows, tids) in enumerate(batches)]


def find_unknown(connection: Connection, unknown: Question, pieces: list[Piece], *, most: int) -> list[str]:
    """Where in some pieces rows lie whose facts nobody has met, one for each set. If they cannot be read, or not in
    time, nobody is the worse for it: each is learned when its turn comes.
    """
    every = Piece(
        pieces[0].first, pieces[-1].last, rows=0, tids=_listed([tid for piece in pieces for tid in piece.each()])
    )
    try:
        with connection.transaction():
            return [tid for (tid,) in unknown.ask(connection, every, most=most)]
    except psycopg.Error as error:
        if not (retry.is_poison(error) or isinstance(error, psycopg.errors.QueryCanceled)):
            raise
    return []


def parts(first: int, end: int, *, number: int) -> list[tuple[int, int]]:
    """A range of ctids in parts of whole pages: as many of one length, or fewer where it is short."""
    pages = max(1, -(-(end - first) // (number * SLOTS)))
    cuts = [*range(first, end, pages * SLOTS), end]
    return list(pairwise(cuts))


def joined(pieces: list[Piece], *, batch: int) -> list[Piece]:
    """Pieces of which each begins where the one before it ends, cut anew into as few as hold a batch each. Rows in
    several partitions may have one ctid, and are not parted.
    """
    tids = [tid for piece in pieces for tid in piece.each()]
    cuts, at = [0], batch
    while at < len(tids):
        if tids[at] == tids[at - 1]:
            at += 1
        else:
            cuts.append(at)
            at += batch
    ends = [*(tail.position(tids[cut]) for cut in cuts[1:]), pieces[-1].last]
    firsts = [pieces[0].first, *ends[:-1]]
    parts = [tids[cut:end] for cut, end in zip(cuts, [*cuts[1:], len(tids)], strict=True)]
    return [Piece(first, end, len(part), _listed(part)) for first, end, part in zip(firsts, ends, parts, strict=True)]


def _listed(tids: list[str]) -> str:
    return '{"' + '","'.join(tids) + '"}' if tids else "{}"
