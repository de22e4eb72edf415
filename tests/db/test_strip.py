"""A walk in pieces: none holds more than a batch, each begins where the last one ended, and no row is in none."""

from __future__ import annotations

import pytest

from oneroof import source, strip, tail
from oneroof.db import Connection, one
from oneroof.strip import Piece, Question
from oneroof.tail import SLOTS, Bounds
from oneroof.width import Width

BATCH = 100
PLAIN = "CREATE TABLE walked (id int NOT NULL, note text)"
# Rows with the same ctid in each of the partitions.
PARTED = """CREATE TABLE walked (id int NOT NULL, note text) PARTITION BY HASH (id);
CREATE TABLE walked_0 PARTITION OF walked FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE walked_1 PARTITION OF walked FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE walked_2 PARTITION OF walked FOR VALUES WITH (MODULUS 3, REMAINDER 2)"""


@pytest.mark.parametrize("made", [PLAIN, PARTED], ids=["plain", "parted"])
def test_pieces_are_cut_where_a_batch_ends(admin: Connection, made: str) -> None:
    """Old rows first, then the new ones, close together at the end of the table."""
    admin.execute(made)
    admin.execute("INSERT INTO walked SELECT n, repeat('x', 100) FROM generate_series(1, 2000) AS n")
    (frontier,) = one(admin, "SELECT pg_current_xact_id()::text::bigint + 1")
    admin.execute("INSERT INTO walked SELECT n, repeat('x', 100) FROM generate_series(2001, 2450) AS n")
    walked = source.add(admin, "walked", key=["id"], kind=source.INVENTORY)
    bounds = Bounds(frontier=frontier, horizon=None)
    count, cut = (make(walked, bounds).as_bytes(None) for make in (tail.tid_count, tail.tid_cut))
    counting, cutting = (Question(statement, bounds.parameters()) for statement in (count, cut))
    end = 10_000 * SLOTS
    pieces: list[Piece] = []
    wide = Width(most=end)
    while not pieces or pieces[-1].last < end:
        first = pieces[-1].last if pieces else 0
        pieces.append(strip.next_piece(admin, counting, cutting, first=first, end=end, wide=wide, batch=BATCH))
        wide.widen()
    assert [piece.first for piece in pieces] == [0, *(piece.last for piece in pieces[:-1])]
    rows = [strip.count(admin, counting, first=piece.first, last=piece.last) for piece in pieces]
    assert rows == [piece.rows for piece in pieces]
    assert max(rows) <= BATCH
    assert sum(rows) == 450
    # The first is full, however far from each other the rows before it and its own lie; and few are not.
    assert rows[0] == BATCH
    assert len([number for number in rows if number]) <= 2 * 450 // BATCH
