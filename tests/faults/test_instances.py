"""Instances share the leases out among them, and what a quiet process costs does not grow with its sources."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import sleep

import pytest

from bed import connect, eventually, spawn
from by_hand import Server, server
from many import add_sources
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from process import Process

SHARES = """SELECT split_part(lease_owner, '/', 1), count(*)::int FROM queue_heartbeat
            WHERE executor_name LIKE 'gov_input_gate:%' AND lease_owner <> '' GROUP BY 1"""
LIVING = "SELECT count(*) FROM oneroof.governance_instance"


@contextmanager
def instance(host: Server, name: str, *workers: str) -> Iterator[Process]:
    """An instance that runs meanwhile."""
    process = spawn("run", *workers, "--instance", name, dsn=host.dsn())
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def shares(admin: Connection) -> dict[str, int]:
    return dict(admin.execute(SHARES).fetchall())


def number(admin: Connection, query: str) -> int:
    return int(one(admin, query)[0])


def committed(admin: Connection) -> int:
    return number(admin, "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")


def rates(admin: Connection, *, until: float) -> Iterator[float]:
    """Transactions a second, until they are fewer than so many, and once more."""
    rate = float("inf")
    for _ in range(60):
        is_last = rate < until
        before = committed(admin)
        sleep(3)
        yield (rate := (committed(admin) - before) / 3)
        if is_last:
            return


@pytest.mark.slow
def test_an_instance_that_comes_later_gets_its_share_and_one_that_dies_loses_it() -> None:
    """Of twelve inventories two instances hold six each, three hold four; what a killed one held the others take."""
    with server() as host, connect(host.dsn()) as admin, ExitStack() as stack:
        have = number(admin, "SELECT count(*) FROM oneroof.governance_source WHERE source_kind = 'inventory'")
        add_sources(admin, many=12 - have, rows=5)
        admin.execute("UPDATE oneroof.governance_worker_policy SET lease_ttl = '3 seconds'")
        stack.enter_context(instance(host, "a", "input_gate"))
        eventually(lambda: shares(admin) == {"a": 12}, what="one instance to hold all")
        killed = stack.enter_context(instance(host, "b", "input_gate"))
        eventually(lambda: shares(admin) == {"a": 6, "b": 6}, what="two to hold half each")
        with instance(host, "c", "input_gate"):
            eventually(lambda: shares(admin) == {"a": 4, "b": 4, "c": 4}, what="three to hold a third each")
            assert number(admin, LIVING) == 3
        eventually(lambda: shares(admin) == {"a": 6, "b": 6}, what="two to hold half each again")
        assert number(admin, LIVING) == 2
        killed.kill()
        eventually(lambda: shares(admin) == {"a": 12}, what="the leases of the one that was killed", seconds=3 + 5 + 5)


@pytest.mark.slow
def test_shares_that_are_reached_stay_where_they_are() -> None:
    owners = "SELECT array_agg(executor_name || lease_owner ORDER BY 1) FROM queue_heartbeat WHERE lease_owner <> ''"
    with server() as host, connect(host.dsn()) as admin, ExitStack() as stack:
        add_sources(admin, many=6, rows=5)
        for name in ("a", "b"):
            stack.enter_context(instance(host, name))
        eventually(lambda: number(admin, LIVING) == 2 and len(shares(admin)) == 2, what="both to hold some", seconds=60)

        def are_still() -> bool:
            before = one(admin, owners)
            sleep(3)
            return one(admin, owners) == before

        eventually(are_still, what="no lease to change hands")


@pytest.mark.slow
def test_a_quiet_process_costs_as_much_with_many_sources_as_with_few() -> None:
    """In transactions: looks are of all sources together, and leases are ticked together."""
    with server() as host, connect(host.dsn()) as admin:
        admin.execute("UPDATE oneroof.governance_worker_policy SET sweep_interval = '1 hour'")

        def per_second(many: int, after: int) -> float:
            add_sources(admin, many=many, rows=5, after=after)
            with instance(host, "a"):
                return min(rates(admin, until=15.0))

        few, several = per_second(10, 0), per_second(50, 10)
    assert several < 15, (few, several)
    assert several < 2 * few + 2, (few, several)


@pytest.mark.slow
def test_an_instance_that_only_stands_by_costs_little() -> None:
    """Where there is one lease and another instance holds it."""
    with server() as host, connect(host.dsn()) as admin:
        admin.execute("UPDATE oneroof.governance_worker_policy SET sweep_interval = '1 hour'")
        with instance(host, "a", "input_gate"):
            eventually(lambda: shares(admin) == {"a": 1}, what="the lease")
            sleep(2)
            before = committed(admin)
            sleep(10)
            alone = (committed(admin) - before) / 10
            with instance(host, "b", "input_gate"):
                eventually(lambda: number(admin, LIVING) == 2, what="the other instance")
                sleep(2)
                before = committed(admin)
                sleep(10)
                together = (committed(admin) - before) / 10
    assert together - alone <= 4, (alone, together)
