"""`oneroof run` and `status` as a user meets them: real processes, real signals, real kills."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bed import Bed, as_user, command, connect, environment, eventually, spawn
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.people import gates, requests

LEFT = """SELECT count(*) FROM birth_registry AS b
          WHERE NOT EXISTS (SELECT FROM oneroof.governance_candidate_state AS c
                            WHERE c.candidate_key = b.collection_name || ':' || b.entity_code)"""
OURS = "FROM queue_heartbeat WHERE executor_name LIKE 'gov%'"


def open_gate(dsn: str) -> None:
    with connect(as_user(dsn, "requester")) as asking, connect(as_user(dsn, "approver")) as deciding:
        requests.decide(deciding, gates.request(asking, "governance.workers_enabled", reason="x"), "approved")


def leases(connection: Connection) -> int:
    (held,) = one(connection, f"SELECT count(*) {OURS} AND lease_owner IS NOT NULL")
    return int(held)


@pytest.fixture
def lone_database(lone_bed: Bed) -> Iterator[str]:
    """An installed estate in a cluster of its own: elsewhere another test's transaction may pin the horizon."""
    with lone_bed.database(lone_bed.installed()) as name:
        yield lone_bed.dsn(name)


def test_a_closed_gate_is_exit_3(installed_database: str) -> None:
    """With --once and --until-idle; and an unknown worker is wrong usage."""
    for flag in ("--once", "--until-idle"):
        ran = command("run", flag, dsn=installed_database)
        assert ran.code == 3
        assert "oneroof gate request governance.workers_enabled" in ran.err
    assert command("run", "nobody", "--once", dsn=installed_database).code == 2


def test_until_idle_sweeps_and_then_absorbs_what_changes(lone_database: str) -> None:
    """First every birth, then only what is new or changed, deterministic counters, leases given back."""
    open_gate(lone_database)
    first = command("run", "--until-idle", "--json", dsn=lone_database)
    assert first.code == 0, first.err
    with connect(lone_database) as admin:
        (rows,) = one(admin, "SELECT count(*) FROM birth_registry")
        assert first.json["executors"]["gov_backfill_sweep:birth_registry"] == rows
        assert one(admin, LEFT) == (0,)
        assert leases(admin) == 0
        admin.execute("INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('new', 'one', NULL)")
        admin.execute("UPDATE birth_registry SET status = 'unheard of' WHERE id = 3")
        second = command("run", "handoff_intake", "--until-idle", "--json", dsn=lone_database)
        assert second.code == 0, second.err
        assert one(admin, LEFT) == (0,)
        dirty = admin.execute(
            "SELECT dirty_reason FROM oneroof.governance_candidate_state WHERE dirty ORDER BY 1"
        ).fetchall()
        # The changed row has its verdict: its facts are judged with it. The born one is of a class never looked at.
        assert dirty == [("object_born",)]
        (seen,) = one(
            admin, "SELECT events_seen FROM oneroof.gov_worker_cursor WHERE worker_name = 'gov_backfill_sweep'"
        )
        assert seen == rows
    status = command("status", "--json", dsn=as_user(lone_database, "viewer"))
    assert status.code == 0, status.err
    assert {row["state"] for row in status.json["workers"]} == {"released"}


def test_what_was_loaded_is_not_looked_through_while_workers_run(installed_database: str) -> None:
    """A look at all that an interpreter has loaded takes longer than a batch of news."""
    open_gate(installed_database)
    program = """import atexit, gc
from oneroof.__main__ import main
loaded = len(gc.get_objects())
atexit.register(lambda: print("kept", gc.get_freeze_count() >= loaded))
main()"""
    ran = subprocess.run(
        [sys.executable, "-c", program, "run", "input_gate", "--once"],
        env=environment(installed_database, None),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.splitlines()[-1] == "kept True"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_batch_and_gives_the_leases_back(installed_database: str, number: signal.Signals) -> None:
    """A running supervisor follows births as they come; asked to stop, it leaves no lease behind."""
    open_gate(installed_database)
    process = spawn("run", "--instance", "tester", dsn=installed_database)
    with connect(installed_database) as admin:
        eventually(lambda: one(admin, LEFT) == (0,), what="the sweep")
        admin.execute("INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('new', 'one', now())")
        eventually(lambda: one(admin, LEFT) == (0,), what="the new birth")
        (owner,) = one(admin, f"SELECT min(lease_owner) {OURS}")
        assert owner.startswith("tester/")
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 0, err
        assert leases(admin) == 0


@pytest.mark.slow
def test_doc39_10_1_a_killed_sweep_is_finished_by_the_next(lone_database: str) -> None:
    """kill -9 in the middle: after the lease has run out another instance does exactly the rest."""
    open_gate(lone_database)
    with connect(lone_database) as admin:
        admin.execute(
            "INSERT INTO birth_registry (collection_name, entity_code, born_at)"
            " SELECT 'many', n, now() - n * interval '1 second' FROM generate_series(1, 200000) AS n"
        )
        process = spawn("run", "backfill_sweep", dsn=lone_database)
        seen = "SELECT coalesce(max(events_seen), 0) FROM oneroof.gov_worker_cursor"
        eventually(lambda: one(admin, seen)[0] > 10_000, what="the sweep to be under way")
        process.kill()
        process.communicate()
        (done,) = one(admin, seen)
        (rows,) = one(admin, "SELECT count(*) FROM birth_registry")
        assert done < rows
        held = command("run", "backfill_sweep", "--until-idle", dsn=lone_database)
        assert held.code == 5, held.err
        admin.execute("UPDATE queue_heartbeat SET last_tick_at = last_tick_at - interval '1 hour'")
        assert command("status", dsn=lone_database).code == 1
        rest = command("run", "backfill_sweep", "--until-idle", "--json", dsn=lone_database)
        assert rest.code == 0, rest.err
        assert rest.json["seen"] <= rows - done + 5_000
        assert one(admin, LEFT) == (0,)
        assert one(admin, seen) == (rows,)
