"""Sweeps in ranges, where a run goes on that began otherwise, or where something failed (promises 1, 2, 5 and 10)."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import inventory
from bed import connect
from inventory import POISON, SWEEP
from oneroof.backfill import ranges
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.fence import cursor, lease
from oneroof.runtime.supervisor import Supervisor
from oneroof.sources.source import Source
from oneroof.workers.backfill_sweep import BackfillSweep

ROWS = """INSERT INTO src (id, at, code) SELECT n, timestamptz '2026-01-01' + n * interval '1 minute', 'code ' || n
  FROM generate_series(1, 60) AS n"""


@pytest.fixture
def admin(installed_database: str) -> Iterator[Connection]:
    with connect(installed_database) as connection:
        connection.execute("DELETE FROM oneroof.governance_source")
        connection.execute(
            "CREATE OR REPLACE FUNCTION oneroof.gov_gate_is_open(p_gate text) RETURNS boolean LANGUAGE sql RETURN true"
        )
        yield connection


def sweep_in_ranges(connection: Connection, tailed: Source, *, shares: int, batch: int = 7) -> int:
    """Cut, sweep the ranges, close the whole; how many ranges there were."""
    inventory.settle(connection)
    held = inventory.claim(connection, SWEEP)
    whole = BackfillSweep(connection, tailed, held, batch=batch)
    many = whole.cut(shares)
    for name in ranges.names(connection, worker=SWEEP, source="src"):
        inventory.sweep(connection, tailed, scope=name, batch=batch)
    inventory.until_idle(whole)
    lease.release(connection, held)
    return many


def run_until_idle(dsn: str, *, shards: int) -> None:
    """The sweep as `oneroof run` runs it."""
    with connect(dsn) as connection:
        inventory.settle(connection)
    Supervisor(
        dial=lambda: connect(dsn),
        workers=[SWEEP],
        instance="test",
        mode="until idle",
        stop=threading.Event(),
        tell=lambda _: None,
        shards=shards,
    ).run()


@pytest.mark.parametrize("steps", [1, 2, 5, 9])
def test_a_sweep_that_is_cut_midway_counts_every_row_once(admin: Connection, steps: int) -> None:
    """What was swept before the cut is in no range."""
    tailed = inventory.make(admin)
    admin.execute(ROWS)
    inventory.settle(admin)
    held = inventory.claim(admin, SWEEP)
    begun = BackfillSweep(admin, tailed, held, batch=5)
    for _ in range(steps):
        begun.run_once()
    lease.release(admin, held)
    assert sweep_in_ranges(admin, tailed, shares=4) == 4
    assert inventory.wrong(admin) == []
    assert inventory.seen(admin, SWEEP) == 60


def test_a_replay_of_a_sweep_in_ranges_reads_every_row_again(admin: Connection) -> None:
    """A candidate that somebody changed behind our back is as its row says again."""
    tailed = inventory.make(admin)
    admin.execute(ROWS)
    sweep_in_ranges(admin, tailed, shares=3)
    admin.execute(
        "UPDATE oneroof.governance_candidate_state SET group_key = 'forged', facts_hash = 0 WHERE source_key = '7'"
    )
    with admin.transaction():
        cursor.rewind(admin, worker=SWEEP, source="src")
    sweep_in_ranges(admin, tailed, shares=3)
    assert inventory.wrong(admin) == []


def test_until_idle_ends_when_every_range_is_swept(admin: Connection, installed_database: str) -> None:
    """A lane that has nothing to do while another one cuts is not the end of the run."""
    inventory.make(admin)
    admin.execute(ROWS)
    run_until_idle(installed_database, shards=3)
    assert inventory.wrong(admin) == []
    assert one(admin, "SELECT frontier IS NOT NULL FROM oneroof.gov_worker_cursor WHERE source_name = 'src'") == (True,)


def test_what_failed_in_a_range_is_tried_again_after_the_sweep(admin: Connection, installed_database: str) -> None:
    """The ranges are gone from the plan once the whole is closed; their failed items are not."""
    admin.execute("UPDATE oneroof.governance_worker_policy SET backoff_first = '1 hour', backoff_most = '1 hour'")
    tailed = inventory.make(admin)
    admin.execute(ROWS)
    admin.execute("UPDATE src SET code = %s WHERE id = 10", (POISON,))
    sweep_in_ranges(admin, tailed, shares=3)
    assert one(admin, "SELECT state, source_name FROM oneroof.governance_retry") == ("waiting", "src#1/3")
    admin.execute("UPDATE src SET code = 'good' WHERE id = 10")
    admin.execute("UPDATE oneroof.governance_retry SET next_attempt_at = now()")
    run_until_idle(installed_database, shards=3)
    assert one(admin, "SELECT state FROM oneroof.governance_retry") == ("done",)
    assert inventory.wrong(admin) == []
