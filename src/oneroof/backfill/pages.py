"""The next portion of a sweep page by page, where no index gives an order (docs/explanation/tail/frontier.md).

A range of ctids is counted first, which reads row headers alone, and cut where a batch of rows ends. A rewrite of the
table moves rows to where the sweep has been: the mark of its files tells, and it begins anew.
"""

from __future__ import annotations

from collections.abc import Callable

from psycopg import sql

from oneroof.backfill.keyset import Portion
from oneroof.candidates.apply_batch import Statements
from oneroof.database.connection import Connection
from oneroof.failures.batch_size import Width
from oneroof.fence.cursor import Cursor
from oneroof.sources.source import Source
from oneroof.tail import header_queries, page_ranges, table_files
from oneroof.tail.frontier_window import At
from oneroof.tail.page_ranges import Question
from oneroof.tail.row_queries import SLOTS, Bounds

PAGES = "pages"


def place(connection: Connection, source: Source, here: Cursor) -> tuple[At, int]:
    """Where the sweep goes on, and where the table ends; from the beginning, if a rewrite has moved rows."""
    ground = table_files.read_ground(connection, source)
    at = here.window_at or {"part": PAGES, "tid": 0, "files": ground.files}
    if at["files"] != ground.files:
        at = {"part": PAGES, "tid": 0, "files": ground.files, "again": True}
    return at, ground.blocks * SLOTS


def next_portion(
    connection: Connection,
    source: Source,
    statements: Statements,
    *,
    bounds: Bounds,
    at: At,
    end: int,
    horizon: int | None,
    wide: Width,
    most: int,
    known: bool,
) -> Portion:
    """What comes next behind a place, so many rows at the most."""

    def question(what: str, bounds: Bounds, make: Callable[[Source, Bounds], sql.Composed]) -> Question:
        statement = statements.get(what, bounds.shape, compose=lambda: make(source, bounds))
        return Question(statement, bounds.parameters())

    counting, cutting = (
        question("count", bounds, header_queries.tid_count),
        question("cut", bounds, header_queries.tid_cut),
    )
    piece = page_ranges.next_piece(connection, counting, cutting, first=at["tid"], end=end, wide=wide, batch=most)
    counted = None
    # Counting every version once needs no more than the headers; what a rewrite shows again counts if it is news.
    if not (known or at.get("again")):
        below = question("count", Bounds(frontier=None, horizon=horizon), header_queries.tid_count)
        counted = page_ranges.count(connection, below, first=piece.first, last=piece.last)
    return Portion(covered=piece, rows=piece.rows, counted=counted, at={**at, "tid": piece.last})
