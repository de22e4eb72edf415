"""Each guard of the tail is needed: take one away, and a scenario that is right with it goes wrong.

A scenario is played twice, with the code as it is, and with a mutant that lacks one guard; the first must find nothing
wrong, the second something. A guard that no scenario misses would be a guard that no test defends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import sql

import inventory
from bed import Bed, connect
from inventory import INTAKE, SWEEP
from oneroof.candidates import apply_batch
from oneroof.database.connection import Answer, Connection
from oneroof.database.statements import one
from oneroof.errors import HeldElsewhere, OneroofError
from oneroof.fence import cursor, lease
from oneroof.fence.cursor import Cursor
from oneroof.fence.step import Step
from oneroof.sources import registration
from oneroof.sources.source import Source
from oneroof.tail import open_set, row_queries, table_files
from oneroof.tail.pass_schedule import Lull
from oneroof.tail.table_files import Ground
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.handoff_intake import HandoffIntake

pytestmark = pytest.mark.slow

ROWS = "INSERT INTO src (id, at, code) SELECT n, '2026-01-01', 'code ' || n FROM generate_series(1, 5) AS n"
# Ten rows or so to a page.
LONG_ROWS = """INSERT INTO src (id, at, code, status)
  SELECT n, '2026-01-01', 'code ' || n, repeat('s', 700) FROM generate_series(1, 100) AS n"""
Scenario = Callable[[Connection, pytest.MonkeyPatch], list[str]]
Mutant = Callable[[pytest.MonkeyPatch], None]


def mistakes(admin: Connection, *, worker: str, seen: int) -> list[str]:
    """Everything that is not as it should be."""
    found = inventory.wrong(admin)
    counted = inventory.seen(admin, worker)
    if counted != seen:
        found.append(f"{counted} events were counted instead of {seen}")
    (items,) = one(admin, "SELECT count(*) FROM oneroof.governance_retry")
    if items:
        found.append(f"{items} rows failed that are good")
    stale = inventory.stale_open_rows(admin)
    if stale:
        found.append(f"{stale} rows are remembered below the frontier")
    return found


def zombie(admin: Connection, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An intake comes to a halt between its read and its commit, for longer than its lease; an heir does the work."""
    tailed = inventory.make(admin)
    inventory.sweep(admin, tailed)
    # So that the fast lane is who meets them.
    admin.execute(ROWS.replace("'2026-01-01'", "now()"))
    apply = apply_batch.apply

    def halt_first(connection: Connection, *given: Any, **more: Any) -> Any:
        monkeypatch.setattr(apply_batch, "apply", apply)
        # The heir cannot have the lease before the transaction of the other is over: that is the fence.
        with suppress(psycopg.errors.LockNotAvailable, HeldElsewhere):
            admin.execute("SET lock_timeout = '100ms'")
            inventory.run_out(admin)
            inventory.inherit(admin, tailed)
        return apply(connection, *given, **more)

    with connect(admin.info.dsn) as halted:
        worker = HandoffIntake(halted, tailed, inventory.claim(halted, INTAKE), at_once=True)
        worker.run_once()
        monkeypatch.setattr(apply_batch, "apply", halt_first)
        worker.run_once()
        admin.execute("SET lock_timeout = 0")
        inventory.run_out(admin)
        inventory.intake(admin, tailed)
        with suppress(HeldElsewhere):
            inventory.until_idle(worker)
    return mistakes(admin, worker=INTAKE, seen=5)


def back_dated(admin: Connection, _: pytest.MonkeyPatch) -> list[str]:
    """A row comes that claims to be older than all the others, one that is older than time, and one without a date."""
    tailed = inventory.make(admin)
    admin.execute(ROWS)
    inventory.sweep(admin, tailed)
    inventory.intake(admin, tailed)
    admin.execute("INSERT INTO src VALUES (6, '2020-01-01', 'f'), (7, '-infinity', 'g'), (8, NULL, 'h')")
    inventory.intake(admin, tailed)
    return mistakes(admin, worker=INTAKE, seen=3)


def both_lanes(admin: Connection, _: pytest.MonkeyPatch) -> list[str]:
    """The fast lane sees a row, and then the frontier comes by it."""
    tailed = inventory.make(admin)
    inventory.sweep(admin, tailed)
    held = inventory.claim(admin, INTAKE)
    worker = HandoffIntake(admin, tailed, held)
    worker.run_once()
    admin.execute("INSERT INTO src VALUES (1, now(), 'a'), (2, now(), 'b')")
    assert worker.run_once().seen == 2
    lease.release(admin, held)
    inventory.intake(admin, tailed)
    return mistakes(admin, worker=INTAKE, seen=2)


def until(run: Callable[[], Step], holds: Callable[[], bool]) -> None:
    """Step by step until something is so."""
    for _ in range(200):
        if holds():
            return
        run()
    raise AssertionError("200 steps, and it is not so")


def rewritten_under_the_intake(admin: Connection, _: pytest.MonkeyPatch) -> list[str]:
    """VACUUM FULL between two pieces of a window: rows move to where the walk has been."""
    tailed = inventory.make(admin, indexed=False)
    inventory.sweep(admin, tailed)
    admin.execute(LONG_ROWS)
    admin.execute("DELETE FROM src WHERE id <= 50")
    inventory.settle(admin)
    held = inventory.claim(admin, INTAKE)
    worker = HandoffIntake(admin, tailed, held, batch=5, at_once=True)
    until(worker.run_once, lambda: inventory.seen(admin, INTAKE) > 5)
    assert inventory.seen(admin, INTAKE) < 50
    admin.execute("VACUUM FULL src")
    inventory.until_idle(worker)
    return mistakes(admin, worker=INTAKE, seen=50)


def rewritten_under_the_sweep(admin: Connection, _: pytest.MonkeyPatch) -> list[str]:
    """The same while a source without an index is swept page by page."""
    tailed = inventory.make(admin, indexed=False)
    admin.execute(LONG_ROWS)
    admin.execute("DELETE FROM src WHERE id <= 50")
    inventory.settle(admin)
    worker = BackfillSweep(admin, tailed, inventory.claim(admin, SWEEP), batch=5)
    until(worker.run_once, lambda: inventory.seen(admin, SWEEP) > 5)
    assert inventory.seen(admin, SWEEP) < 50
    admin.execute("VACUUM FULL src")
    inventory.until_idle(worker)
    return mistakes(admin, worker=SWEEP, seen=50)


def moved_to_another_cluster(admin: Connection, _: pytest.MonkeyPatch) -> list[str]:
    """The database now lies in a cluster that is younger: old xids mean nothing here, or something else."""
    tailed = inventory.make(admin)
    admin.execute(ROWS)
    inventory.sweep(admin, tailed)
    inventory.intake(admin, tailed)
    admin.execute("INSERT INTO src VALUES (6, now(), 'f'), (7, NULL, 'g')")
    admin.execute(
        "INSERT INTO oneroof.governance_open_row SELECT c.cursor_id, s.xmin::text::bigint, s.id::text"
        " FROM src AS s, oneroof.gov_worker_cursor AS c WHERE s.id > 5 AND c.worker_name = %s",
        (INTAKE,),
    )
    with admin.transaction():
        admin.execute("SET LOCAL session_replication_role = replica")
        admin.execute(
            "UPDATE oneroof.gov_worker_cursor SET cluster_identity = 'elsewhere',"
            " frontier = (frontier::text::bigint + 1000000)::text::xid8"
        )
    inventory.intake(admin, tailed)
    return mistakes(admin, worker=INTAKE, seen=2)


def attached(admin: Connection, _: pytest.MonkeyPatch) -> list[str]:
    """A table with rows from before the frontier becomes a partition of the source."""
    columns = "id int PRIMARY KEY, at timestamptz, code text NOT NULL, status text NOT NULL DEFAULT 'born'"
    admin.execute(f"CREATE TABLE src ({columns}) PARTITION BY RANGE (id)")
    admin.execute("CREATE TABLE src_low PARTITION OF src FOR VALUES FROM (0) TO (100)")
    admin.execute(f"CREATE TABLE src_high ({columns})")
    admin.execute(inventory.INDEX)
    tailed = registration.add(admin, "src", key=["id"], timestamp="at", ref="code", group_by=["status"])
    admin.execute(ROWS)
    admin.execute("INSERT INTO src_high SELECT n, '2025-01-01', 'old ' || n FROM generate_series(100, 104) AS n")
    inventory.sweep(admin, tailed)
    inventory.intake(admin, tailed)
    admin.execute("ALTER TABLE src ATTACH PARTITION src_high FOR VALUES FROM (100) TO (200)")
    inventory.intake(admin, tailed)
    return mistakes(admin, worker=INTAKE, seen=5)


def without_the_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "fence", lambda *_, **__: b"SELECT 1")


def without_the_frontier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lull, "is_due", lambda *_, **__: False)


def without_the_open_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_set, "unseen", lambda _: sql.SQL("true"))
    monkeypatch.setattr(open_set, "is_ordered", lambda _: False)


def without_the_mark_of_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    see = table_files.read_ground

    def same(connection: Connection, tailed: Source) -> Ground:
        return replace(see(connection, tailed), files="the same for ever")

    monkeypatch.setattr(table_files, "read_ground", same)


def without_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    read = cursor.read

    def trusting(answer: Answer) -> Cursor:
        here = read(answer)
        return replace(here, identity=here.cluster_identity or here.identity)

    monkeypatch.setattr(cursor, "read", trusting)


def without_fresh_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    in_window = row_queries.in_window
    monkeypatch.setattr(row_queries, "in_window", lambda bounds: in_window(replace(bounds, fresh=())))


GUARDS: dict[str, tuple[Scenario, Mutant]] = {
    "fence": (zombie, without_the_fence),
    "frontier": (back_dated, without_the_frontier),
    "open set": (both_lanes, without_the_open_set),
    "mark of the files, intake": (rewritten_under_the_intake, without_the_mark_of_the_files),
    "mark of the files, sweep": (rewritten_under_the_sweep, without_the_mark_of_the_files),
    "identity": (moved_to_another_cluster, without_the_identity),
    "fresh partitions": (attached, without_fresh_partitions),
}


@pytest.fixture
def admin(bed: Bed) -> Iterator[Connection]:
    with bed.database(bed.installed()) as name, connect(bed.dsn(name)) as connection:
        connection.execute("DELETE FROM oneroof.governance_source")
        yield connection


@pytest.mark.parametrize("guard", GUARDS)
def test_with_the_guard_all_is_well(admin: Connection, guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scenario, played on the code as it is."""
    scenario, _ = GUARDS[guard]
    assert scenario(admin, monkeypatch) == []


@pytest.mark.parametrize("guard", GUARDS)
def test_mutant_without_the_guard_goes_wrong(admin: Connection, guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same scenario without the guard: rows lost, or counted twice, or refused by the database itself."""
    scenario, take_away = GUARDS[guard]
    take_away(monkeypatch)
    try:
        found = scenario(admin, monkeypatch)
    except OneroofError as error:
        found = [str(error)]
    assert found != []
