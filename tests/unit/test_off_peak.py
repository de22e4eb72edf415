"""The off-peak window: a time of day, UTC, that may span midnight."""

from __future__ import annotations

from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneroof.runtime.policy import Policy


def policy(begin: time | None, end: time | None) -> Policy:
    return Policy(
        worker_name="gov_backfill_sweep",
        paused_at=None,
        paused_by=None,
        batch_size=5000,
        rows_per_second=None,
        off_peak_from=begin,
        off_peak_to=end,
        sweep_interval=10.0,
        lease_ttl=30.0,
        attempts=5,
        backoff_first=1.0,
        backoff_most=300.0,
        dlq_limit=100,
        lag_limit=300.0,
        lock_wait_limit=5,
        replication_lag_limit=1,
        error_limit=0.5,
        coalesce_window=1.0,
        digest_after=10,
        digest_interval=300.0,
        heartbeat_interval=300.0,
        storm_share=0.5,
        storm_changes=10_000,
    )


@pytest.mark.parametrize(
    ("begin", "end", "inside", "outside"),
    [
        (time(1), time(5), [time(1), time(4, 59, 59)], [time(0, 59, 59), time(5), time(23)]),
        (time(22), time(6), [time(22), time(23, 59), time(0), time(5, 59)], [time(6), time(12), time(21, 59)]),
        (time(22), time(0), [time(22), time(23, 59, 59)], [time(0), time(21)]),
        (None, None, [time(0), time(12)], []),
        (time(3), time(3), [time(0), time(3), time(12)], []),
    ],
)
def test_a_window_holds_its_begin_and_not_its_end(
    begin: time | None, end: time | None, inside: list[time], outside: list[time]
) -> None:
    """None, or the whole day, is always."""
    found = policy(begin, end)
    assert [found.in_window(now) for now in inside] == [True] * len(inside)
    assert [found.in_window(now) for now in outside] == [False] * len(outside)


@given(begin=st.times(), end=st.times(), now=st.times())
def test_a_window_and_its_opposite_share_the_day(begin: time, end: time, now: time) -> None:
    """Every moment is in exactly one of [a, b) and [b, a)."""
    if begin != end:
        assert policy(begin, end).in_window(now) != policy(end, begin).in_window(now)
