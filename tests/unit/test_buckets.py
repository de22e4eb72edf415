"""Into how many buckets an audit puts what has drifted."""

from __future__ import annotations

import pytest

from oneroof.full_audit.comparison import LEAST_BUCKETS, MOST_BUCKETS, buckets


@pytest.mark.parametrize(
    ("members", "apart", "made"),
    [
        (20_000, 5, 1),
        (20_001, 0, LEAST_BUCKETS),
        (1_000_000, 60, LEAST_BUCKETS),
        (1_000_000, 5_000, 16_384),
        (1_000_000, MOST_BUCKETS, MOST_BUCKETS),
        (1_000_000, MOST_BUCKETS + 1, 1),
    ],
)
def test_some_for_every_difference_within_limits(members: int, apart: int, made: int) -> None:
    """As many as help, and none where few are to be looked at or nearly all differ."""
    assert buckets(members, apart=apart, few=20_000) == made
