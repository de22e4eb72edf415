"""The load guard is pure: told what was seen and when, it says why not to work (promise 15)."""

from __future__ import annotations

from typing import Any

import pytest

from oneroof.runtime.load_guard import CALM, ENOUGH, Load, LoadGuard
from oneroof.runtime.policy import Policy

QUIET = Load(lock_waits=0, replication_lag=None)


def policy(**changes: Any) -> Policy:
    values: dict[str, Any] = {
        "worker_name": "gov_backfill_sweep",
        "paused_at": None,
        "paused_by": None,
        "batch_size": 5000,
        "rows_per_second": None,
        "off_peak_from": None,
        "off_peak_to": None,
        "sweep_interval": 10.0,
        "lease_ttl": 30.0,
        "attempts": 5,
        "backoff_first": 1.0,
        "backoff_most": 300.0,
        "dlq_limit": 100,
        "lag_limit": 300.0,
        "lock_wait_limit": 4,
        "replication_lag_limit": 1000,
        "error_limit": 0.5,
        "coalesce_window": 1.0,
        "digest_after": 10,
        "digest_interval": 300.0,
        "heartbeat_interval": 300.0,
        "storm_share": 0.5,
        "storm_changes": 10_000,
    }
    return Policy(**{**values, **changes})


def test_nothing_wrong_is_no_reason_to_rest() -> None:
    """At the limit is not above it."""
    assert LoadGuard().look(Load(lock_waits=4, replication_lag=1000), policy(), now=0) is None


@pytest.mark.parametrize(
    ("load", "word"),
    [(Load(lock_waits=5, replication_lag=None), "locks"), (Load(lock_waits=0, replication_lag=1001), "standby")],
)
def test_it_pauses_above_a_limit_and_says_why(load: Load, word: str) -> None:
    """Lock waits and the lag of a standby."""
    assert word in str(LoadGuard().look(load, policy(), now=0))


def test_it_resumes_only_when_it_has_been_calm_for_a_while() -> None:
    """Below the limit is not enough: half of it, for so many seconds, without an interruption."""
    guard = LoadGuard()
    assert guard.look(Load(lock_waits=9, replication_lag=None), policy(), now=0)
    assert guard.look(Load(lock_waits=3, replication_lag=None), policy(), now=100)
    assert guard.look(Load(lock_waits=2, replication_lag=None), policy(), now=200)
    assert guard.look(Load(lock_waits=3, replication_lag=None), policy(), now=200 + CALM / 2)
    assert guard.look(QUIET, policy(), now=300)
    assert guard.look(QUIET, policy(), now=300 + CALM / 2)
    assert guard.look(QUIET, policy(), now=300 + CALM) is None


def test_our_own_errors_ask_for_a_rest_and_then_for_another_try() -> None:
    """More than the share of recent batches that may fail; after the rest the account begins anew."""
    guard = LoadGuard()
    for i in range(ENOUGH):
        guard.note(failed=i % 3 > 0)
    assert "failed" in str(guard.look(QUIET, policy(), now=0))
    assert guard.look(QUIET, policy(), now=1)
    assert guard.look(QUIET, policy(), now=1 + CALM) is None


def test_a_few_errors_are_none() -> None:
    """Neither too few to tell nor a small share."""
    guard = LoadGuard()
    for _ in range(ENOUGH - 1):
        guard.note(failed=True)
    assert guard.look(QUIET, policy(), now=0) is None
    for _ in range(20):
        guard.note(failed=False)
    assert guard.look(QUIET, policy(), now=1) is None
