"""A range of ctids in parts: whatever its length, each begins where the last one ended, and none is empty."""

from __future__ import annotations

from itertools import pairwise

import pytest

from oneroof import strip
from oneroof.strip import Piece
from oneroof.tail import SLOTS


@pytest.mark.parametrize("first", [0, 7, 3 * SLOTS])
@pytest.mark.parametrize("length", [1, SLOTS, 3 * SLOTS + 1, 4 * SLOTS, 4_097 * SLOTS, 4_100 * SLOTS - 1])
def test_parts_cover_a_range_once(first: int, length: int) -> None:
    parts = strip.parts(first, first + length, number=4)
    assert (parts[0][0], parts[-1][1]) == (first, first + length)
    assert all(one[1] == other[0] for one, other in pairwise(parts))
    assert all(begins < ends for begins, ends in parts)
    assert len(parts) <= 4


def test_pieces_that_are_joined_hold_what_they_held() -> None:
    tids = [f"({n},{n % 3 + 1})" for n in range(10)]
    of = [Piece(0, 4 * SLOTS, 4, '{"' + '","'.join(tids[:4]) + '"}'), Piece(4 * SLOTS, 5 * SLOTS, 0)]
    of.append(Piece(5 * SLOTS, 20 * SLOTS, 6, '{"' + '","'.join(tids[4:]) + '"}'))
    joined = strip.joined(of, batch=3)
    assert [tid for piece in joined for tid in piece.each()] == tids
    assert [piece.rows for piece in joined] == [3, 3, 3, 1]
    assert (joined[0].first, joined[-1].last) == (0, 20 * SLOTS)
