"""A walk in pieces: none holds more than a batch, each begins where the last one ended, and no row is in none."""

from __future__ import annotations

import pytest

from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.failures.batch_size import Width
from oneroof.sources import registration, source
from oneroof.sources.source import Source
from oneroof.tail import header_queries, page_ranges, row_queries
from oneroof.tail.page_ranges import Piece, Question
from oneroof.tail.row_queries import SLOTS, Bounds

BATCH = 100
PLAIN = "CREATE TABLE walked (id int NOT NULL, note text)"
# Rows with the same ctid in each of the partitions.
PARTED = """CREATE TABLE walked (id int NOT NULL, note text) PARTITION BY HASH (id);
CREATE TABLE walked_0 PARTITION OF walked FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE walked_1 PARTITION OF walked FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE walked_2 PARTITION OF walked FOR VALUES WITH (MODULUS 3, REMAINDER 2)"""


@pytest.fixture(params=[PLAIN, PARTED], ids=["plain", "parted"])
def walked(admin: Connection, request: pytest.FixtureRequest) -> tuple[Source, Bounds]:
    """Old rows first, then 450 new ones, close together at the end of the table; and the window of the new ones."""
    admin.execute(request.param)
    admin.execute("INSERT INTO walked SELECT n, repeat('x', 100) FROM generate_series(1, 2000) AS n")
    (frontier,) = one(admin, "SELECT pg_current_xact_id()::text::bigint + 1")
    admin.execute("INSERT INTO walked SELECT n, repeat('x', 100) FROM generate_series(2001, 2450) AS n")
    return registration.add(admin, "walked", key=["id"], kind=source.INVENTORY), Bounds(frontier=frontier, horizon=None)


def test_pieces_are_cut_where_a_batch_ends(admin: Connection, walked: tuple[Source, Bounds]) -> None:
    bounds = walked[1]
    count, cut = (make(*walked).as_bytes(None) for make in (header_queries.tid_count, header_queries.tid_cut))
    counting, cutting = (Question(statement, bounds.parameters()) for statement in (count, cut))
    end = 10_000 * SLOTS
    pieces: list[Piece] = []
    wide = Width(most=end)
    while not pieces or pieces[-1].last < end:
        first = pieces[-1].last if pieces else 0
        pieces.append(page_ranges.next_piece(admin, counting, cutting, first=first, end=end, wide=wide, batch=BATCH))
        wide.widen()
    assert [piece.first for piece in pieces] == [0, *(piece.last for piece in pieces[:-1])]
    rows = [page_ranges.count(admin, counting, first=piece.first, last=piece.last) for piece in pieces]
    assert rows == [piece.rows for piece in pieces]
    assert max(rows) <= BATCH
    assert sum(rows) == 450
    # The first is full, however far from each other the rows before it and its own lie; and few are not.
    assert rows[0] == BATCH
    assert len([number for number in rows if number]) <= 2 * 450 // BATCH


@pytest.mark.parametrize(("most", "readings"), [(10_000, 1), (300, 2), (50, 9)])
def test_pieces_are_found_by_few_readings(
    admin: Connection, walked: tuple[Source, Bounds], most: int, readings: int
) -> None:
    """Each row is in one of them, at its ctid; where there are more than wanted the next reading begins there."""
    finding = Question(header_queries.tid_found(*walked).as_bytes(None), walked[1].parameters())
    end, pieces = 10_000 * SLOTS, list[Piece]()
    while not pieces or pieces[-1].last < end:
        first = pieces[-1].last if pieces else 0
        pieces.append(page_ranges.find_piece(admin, finding, first=first, last=end, most=most))
    assert [piece.first for piece in pieces] == [0, *(piece.last for piece in pieces[:-1])]
    # Rows of several partitions may lie at one ctid, and then are in one piece.
    assert max(piece.rows for piece in pieces) <= most + 2
    assert readings <= len(pieces) <= readings + 2
    rows = [
        row
        for piece in pieces
        for row in admin.execute(
            "SELECT tableoid, ctid::text, id FROM walked WHERE ctid = ANY (%s::tid[]) AND id > 2000", [piece.tids]
        ).fetchall()
    ]
    assert sorted(number for *_, number in rows) == list(range(2001, 2451))
    assert sum(piece.rows for piece in pieces) == 450
    for piece in pieces:
        inside = [
            row_queries.position(tid) for tid in piece.tids.strip("{}").replace('"', "").replace("),(", ") (").split()
        ]
        assert all(piece.first <= place < piece.last for place in inside)
