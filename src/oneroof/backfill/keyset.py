"""The next portion of a sweep, in the order of an index on (timestamp, key), the rows without a timestamp last.

A statement finds where the portion ends, by LIMIT and never by OFFSET, and how many of its rows are below H; another
one reads what lies between (doc 31 §4). This module reads, and holds no state.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from oneroof.candidates.apply_batch import Statements
from oneroof.database.connection import Connection
from oneroof.database.statements import execute
from oneroof.fence.cursor import Cursor
from oneroof.sources.row_expressions import DATED, EPOCH, UNDATED
from oneroof.sources.source import Source
from oneroof.tail import row_queries
from oneroof.tail.page_ranges import Piece
from oneroof.tail.row_queries import Range


@dataclass(frozen=True, slots=True)
class Portion:
    """Rows that a sweep applies in one transaction: the stretch or the piece that they are in, how many they are, how
    many of them count, the place behind them, and the latest of them to be believed.
    """

    covered: Range | Piece
    rows: int
    # None where those count that are written.
    counted: int | None
    at: dict[str, Any]
    watermark: tuple[str, str] | None = None
    is_last: bool = False


def next_portion(
    connection: Connection, source: Source, statements: Statements, here: Cursor, *, most: int, known: bool
) -> Portion:
    """What comes next, so many rows at the most; of rows that are known from before those count that are written."""
    at = here.window_at or {}
    part = at.get("part", UNDATED if source.timestamp_column is None else DATED)
    upto = at.get("upto")
    stretch = Range(part=part, after=at.get("after"), upto=upto if part == DATED else None)
    # Without an upper bound: an old transaction somewhere delays the counting and the proof, never the work.
    given = {"batch": most, "below": str((here.window_horizon or 0) % EPOCH)}
    measure = statements.get(
        "end", stretch.shape, known, compose=lambda: row_queries.keyset_end(source, stretch, counting=not known)
    )
    row = execute(connection, measure, {**given, **stretch.parameters()}).fetchone()
    assert row is not None
    read, counted, last, mark = row
    full, undated_next = read == most, part == DATED and upto is None
    marked = part == DATED and mark[0] not in (None, "-infinity")
    return Portion(
        covered=Range(part=part, after=stretch.after, upto=last),
        rows=read,
        counted=None if known else counted,
        at={"part": part, "after": last, "upto": upto} if full else {"part": UNDATED},
        watermark=(mark[0], mark[1] if len(mark) == 2 else json.dumps(mark[1:])) if marked else None,
        is_last=not full and not undated_next,
    )
