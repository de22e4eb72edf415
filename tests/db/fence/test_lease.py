"""One writer: leases by the server's clock, a fence in every transaction (promises 7 and 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from bed import connect, set_clock
from oneroof.database.connection import Connection
from oneroof.errors import HeldElsewhere
from oneroof.fence import lease
from oneroof.fence.fenced_batch import Batch, run_fenced

EXECUTOR = "gov_backfill_sweep:birth_registry"
WORKING: dict[str, Any] = {"worker": "gov_backfill_sweep", "source": "birth_registry", "doing": "working"}


@pytest.fixture
def pair(installed_database: str) -> Iterator[tuple[Connection, Connection]]:
    with connect(installed_database) as one, connect(installed_database) as two:
        yield one, two


def test_a_held_lease_is_refused_until_it_runs_out(pair: tuple[Connection, Connection]) -> None:
    """Exactly one holds it; after the TTL without a tick, by the server's clock, another takes over."""
    one, two = pair
    first = lease.claim(one, EXECUTOR, instance="a")
    with pytest.raises(HeldElsewhere, match="is held by a/"):
        lease.claim(two, EXECUTOR, instance="b")
    set_clock(one, "31 seconds")
    second = lease.claim(two, EXECUTOR, instance="b")
    assert second.owner.startswith("b/")
    with pytest.raises(HeldElsewhere, match="was lost"):
        run_fenced(one, first, lambda _: None, **WORKING)
    assert run_fenced(two, second, lambda _: 42, **WORKING) == 42


def test_a_zombie_commits_nothing(pair: tuple[Connection, Connection]) -> None:
    """Whoever lost the lease cannot commit an effect, nor release or renew its successor's term."""
    one, two = pair
    first = lease.claim(one, EXECUTOR, instance="same")
    set_clock(one, "31 seconds")
    second = lease.claim(two, EXECUTOR, instance="same")

    def effect(_: Batch) -> None:
        one.execute("INSERT INTO oneroof.gov_worker_cursor (worker_name, source_name) VALUES ('zombie', 'zombie')")

    with pytest.raises(HeldElsewhere):
        run_fenced(one, first, effect, **WORKING)
    assert lease.release(one, first) is False
    assert one.execute("SELECT count(*) FROM oneroof.gov_worker_cursor").fetchone() == (0,)
    assert lease.release(two, second) is True
    assert lease.claim(one, EXECUTOR, instance="a").owner.startswith("a/")


def test_a_tick_keeps_the_lease(pair: tuple[Connection, Connection]) -> None:
    """Fenced batches tick, once a second at most; the row is the host's queue_heartbeat, and one per executor."""
    one, two = pair
    held = lease.claim(one, EXECUTOR, instance="a")
    set_clock(one, "20 seconds")
    for _ in range(3):
        run_fenced(one, held, lambda _: None, **WORKING)
    set_clock(one, "40 seconds")
    with pytest.raises(HeldElsewhere):
        lease.claim(two, EXECUTOR, instance="b")
    rows = one.execute(
        "SELECT ticks_total, lease_owner FROM queue_heartbeat WHERE executor_name = %s", (EXECUTOR,)
    ).fetchall()
    assert rows == [(2, held.owner)]


def test_a_short_lease_is_ticked_before_it_runs_out(pair: tuple[Connection, Connection]) -> None:
    """A tick is fresh for a quarter of the TTL, where that is less than a second."""
    first, second = pair
    held = lease.claim(first, EXECUTOR, instance="a", ttl=1)
    for at in ("0.3 seconds", "0.7 seconds", "1.2 seconds"):
        set_clock(first, at)
        run_fenced(first, held, lambda _: None, **WORKING)
    with pytest.raises(HeldElsewhere):
        lease.claim(second, EXECUTOR, instance="b", ttl=1)


def test_many_leases_are_claimed_ticked_and_released_together(pair: tuple[Connection, Connection]) -> None:
    """Of those wanted the free ones are had; a stolen one is neither ticked nor released by who lost it."""
    one, two = pair
    names = [f"gov_input_gate:s{i}" for i in range(3)]
    other = lease.claim(two, names[0], instance="b")
    had, held = lease.claim_many(one, names, instance="a")
    assert sorted(had) == names[1:]
    assert "is held by b/" in held[names[0]]
    set_clock(one, "31 seconds")
    thief = lease.claim(two, names[1], instance="b")
    leases = list(had.values())
    assert lease.tick_many(one, leases, statuses=["ok", "warn"]) == {names[2]}
    assert lease.release_many(one, leases) == {names[2]}
    assert lease.release_many(two, [thief, other]) == {names[0], names[1]}


def test_a_lease_in_use_is_not_waited_for(pair: tuple[Connection, Connection]) -> None:
    """A batch under way holds the lock of its lease; others that are claimed with it are had at once."""
    one, two = pair
    names = ["gov_input_gate:s0", "gov_input_gate:s1"]
    lease.release(one, lease.claim(one, names[0], instance="a"))
    with one.transaction():
        one.execute("SELECT FROM oneroof.governance_lease WHERE executor_name = %s FOR UPDATE", (names[0],))
        had, held = lease.claim_many(two, names, instance="b")
    assert (list(had), list(held)) == ([names[1]], [names[0]])


def test_the_cursor_never_goes_down(pair: tuple[Connection, Connection]) -> None:
    """Watermark, frontier and counters are monotone in the database, even for a superuser (promise 3)."""
    one, _ = pair
    one.execute(
        "INSERT INTO oneroof.gov_worker_cursor (worker_name, source_name, last_watermark_ts, frontier, events_seen,"
        " coalesced)"
        " VALUES ('w', 's', '2026-01-01', '100', 5, 3)"
    )
    lowered = (
        "last_watermark_ts = '2025-01-01'",
        "frontier = '99'",
        "frontier = NULL",
        "events_seen = 4",
        "coalesced = 2",
    )
    for lower in lowered:
        with pytest.raises(psycopg.Error, match="would go backwards"):
            one.execute(f"UPDATE oneroof.gov_worker_cursor SET {lower}")
    one.execute(
        "UPDATE oneroof.gov_worker_cursor SET last_watermark_ts = '2027-01-01', frontier = '101', events_seen = 6"
    )
