"""The supervisor as operators meet it: pausing, hours, rates, load, ranges, sources that come and go, sick sources."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from bed import Bed, as_user, command, connect, eventually, spawn
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.people import gates, requests
from oneroof.runtime import supervisor
from process import Process

SEEN = "SELECT coalesce(sum(events_seen), 0) FROM oneroof.gov_worker_cursor WHERE worker_name = 'gov_backfill_sweep'"
BORN = """INSERT INTO birth_registry (collection_name, entity_code, born_at)
          SELECT %s, n, now() - n * interval '1 second' FROM generate_series(1, %s) AS n"""
STATES = "SELECT DISTINCT state FROM oneroof.v_worker_status WHERE worker_name = 'gov_backfill_sweep'"


@pytest.fixture
def dsn(lone_bed: Bed) -> Iterator[str]:
    """An installed estate with the gate open, in a cluster of its own."""
    with lone_bed.database(lone_bed.installed()) as name:
        made = lone_bed.dsn(name)
        with connect(as_user(made, "requester")) as asking, connect(as_user(made, "approver")) as deciding:
            requests.decide(deciding, gates.request(asking, "governance.workers_enabled", reason="x"), "approved")
        yield made


@contextmanager
def running(dsn: str, *words: str) -> Iterator[Process]:
    """A supervisor in a process of its own, stopped by a signal as an operator would."""
    process = spawn("run", *words, dsn=dsn)
    try:
        yield process
        alive = process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert alive, said
    assert process.returncode == 0, said
    assert "Traceback" not in said


def number(connection: Connection, query: str) -> int:
    return int(one(connection, query)[0])


def test_a_pause_holds_for_every_process_and_survives_restarts(dsn: str) -> None:
    """Paused, a sweep does nothing in this process, the next, or one that names it; resumed, it ends its work."""
    with connect(dsn) as admin:
        assert command("pause", "backfill_sweep", dsn=dsn).code == 0
        ran = command("run", "backfill_sweep", "--until-idle", "--json", dsn=dsn)
        assert (ran.code, ran.json["seen"]) == (0, 0)
        assert "paused by" in ran.err
        with running(dsn):
            eventually(
                lambda: number(admin, "SELECT count(*) FROM oneroof.gov_worker_cursor") > 0, what="the intake to begin"
            )
            assert number(admin, SEEN) == 0
            assert command("resume", "backfill_sweep", dsn=dsn).code == 0
            rows = number(admin, "SELECT count(*) FROM birth_registry")
            eventually(lambda: number(admin, SEEN) == rows, what="the sweep after the pause")
            command("pause", "backfill_sweep", dsn=dsn)
            held = (
                "SELECT count(*) FROM queue_heartbeat WHERE executor_name LIKE 'gov_back%' AND lease_owner IS NOT NULL"
            )
            eventually(lambda: number(admin, held) == 0, what="its lease to be given back")
            assert admin.execute(STATES).fetchall() == [("paused",)]


def test_outside_its_hours_a_worker_rests_and_ticks(dsn: str) -> None:
    """Off-peak hours that are not now: nothing is read, the lease is kept alive, the run until idle ends."""
    with connect(dsn) as admin:
        admin.execute(
            "UPDATE oneroof.governance_worker_policy SET lease_ttl = '2 seconds',"
            " off_peak_from = (now() AT TIME ZONE 'UTC' + interval '2 hours')::time,"
            " off_peak_to = (now() AT TIME ZONE 'UTC' + interval '3 hours')::time"
            " WHERE worker_name = 'gov_backfill_sweep'"
        )
        ran = command("run", "backfill_sweep", "--until-idle", "--json", dsn=dsn)
        assert (ran.code, ran.json["seen"]) == (0, 0)
        assert "works from" in ran.err
        admin.execute("UPDATE oneroof.governance_worker_policy SET off_peak_from = NULL, off_peak_to = NULL")
        assert command("run", "backfill_sweep", "--until-idle", "--json", dsn=dsn).json["seen"] > 0


def test_a_rate_limit_is_kept(dsn: str) -> None:
    """So many rows a second and no more, in batches of at most a second's worth, whatever the batch size."""
    with connect(dsn) as admin:
        rows = number(admin, "SELECT count(*) FROM birth_registry")
        admin.execute("UPDATE oneroof.governance_worker_policy SET rows_per_second = %s", (rows // 3,))
        ran = command("run", "backfill_sweep", "--until-idle", "--json", dsn=dsn)
        assert ran.json["seen"] == rows
        assert ran.json["seconds"] >= 2
        assert number(admin, "SELECT (metadata ->> 'batches')::int FROM oneroof.gov_worker_cursor") >= 3


def test_lock_waits_pause_the_work_within_a_batch_and_it_resumes_by_itself(dsn: str) -> None:
    """While more sessions than allowed wait for locks nothing is swept, and the worker ticks; afterwards it goes on."""
    with connect(dsn) as admin, ExitStack() as stack:
        admin.execute(BORN, ("many", 60_000))
        admin.execute(
            "UPDATE oneroof.governance_worker_policy SET lock_wait_limit = 2, batch_size = 500, lease_ttl = '2 s'"
        )
        admin.execute("CREATE TABLE host_table (n int); INSERT INTO host_table VALUES (1)")
        rows = number(admin, "SELECT count(*) FROM birth_registry")
        stack.enter_context(running(dsn, "backfill_sweep"))
        eventually(lambda: number(admin, SEEN) > 1000, what="the sweep to be under way")
        with ExitStack() as blocked:
            holder = blocked.enter_context(connect(dsn))
            holder.execute("BEGIN; LOCK TABLE host_table")
            waiters = [connect(dsn) for _ in range(3)]
            threads = [
                threading.Thread(target=waiter.execute, args=("UPDATE host_table SET n = 2",)) for waiter in waiters
            ]
            for thread in threads:
                thread.start()
            waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND waitstart < now() - interval '200 ms'"
            eventually(lambda: number(admin, waits) == 3, what="three sessions to wait")
            warned = (
                "SELECT count(*) FROM queue_heartbeat WHERE last_tick_status = 'warn' AND executor_name LIKE 'gov%'"
            )
            eventually(lambda: number(admin, warned) == 1, what="the worker to tick while it rests")
            stood = number(admin, SEEN)
            ticks = "SELECT sum(ticks_total) FROM queue_heartbeat WHERE executor_name LIKE 'gov%'"
            before = number(admin, ticks)
            eventually(lambda: number(admin, ticks) > before + 1, what="further ticks")
            assert number(admin, SEEN) == stood < rows
            holder.execute("ROLLBACK")
            for thread, waiter in zip(threads, waiters, strict=True):
                thread.join()
                waiter.close()
        eventually(lambda: number(admin, SEEN) == rows, what="the rest of the sweep")


def test_a_sweep_in_ranges_has_a_cursor_and_a_lease_for_each(dsn: str) -> None:
    """Disjoint, complete, counted once; the whole closes when all have, and a run without ranges finishes them too."""
    with connect(dsn) as admin:
        admin.execute(BORN, ("many", 30_000))
        admin.execute(
            "INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('u', 'undated', NULL)"
        )
        admin.execute("ANALYZE birth_registry")
        rows = number(admin, "SELECT count(*) FROM birth_registry")
        assert command("run", "backfill_sweep", "--once", "--shards", "3", dsn=dsn).code == 0
        ran = command("run", "backfill_sweep", "--until-idle", "--json", dsn=dsn)
        assert ran.code == 0, ran.err
        shares = admin.execute(
            "SELECT source_name, events_seen FROM oneroof.gov_worker_cursor WHERE source_name LIKE 'birth_reg%#%'"
            " ORDER BY 1"
        ).fetchall()
        assert [name for name, _ in shares] == [f"birth_registry#{i}/3" for i in (1, 2, 3)]
        assert sum(seen for _, seen in shares) == rows
        assert all(seen > rows / 6 for _, seen in shares), shares
        executors = (
            "SELECT count(*) FROM queue_heartbeat WHERE executor_name LIKE 'gov_backfill_sweep:birth_registry#%'"
        )
        assert number(admin, executors) == 3
        assert number(admin, "SELECT count(*) FROM oneroof.gov_worker_cursor WHERE frontier IS NULL") == 0
        keys = "SELECT count(DISTINCT collection_name || ':' || entity_code) FROM birth_registry"
        assert number(admin, "SELECT count(*) FROM oneroof.governance_candidate_state") == number(admin, keys)
        assert command("run", "backfill_sweep", "--until-idle", "--shards", "2", "--json", dsn=dsn).json["seen"] == 0


def test_a_source_that_comes_is_taken_up_and_one_that_goes_is_let_go(dsn: str) -> None:
    """Without a restart: added, altered so that it cannot be read, mended, dropped."""
    with connect(dsn) as admin, running(dsn):
        eventually(lambda: number(admin, SEEN) > 0, what="the run to be under way")
        admin.execute("CREATE TABLE fourth (k int PRIMARY KEY, t timestamptz, f text); CREATE INDEX ON fourth (t, k)")
        admin.execute("INSERT INTO fourth SELECT n, now(), 'x' FROM generate_series(1, 100) AS n")
        assert command("source", "add", "fourth", "--key", "k", "--timestamp", "t", "--facts", "f", dsn=dsn).code == 0
        have = "SELECT count(*) FROM oneroof.governance_candidate_state WHERE source_name = 'fourth'"
        eventually(lambda: number(admin, have) == 100, what="the new source to be swept")
        admin.execute("ALTER TABLE fourth RENAME COLUMN f TO g; INSERT INTO fourth VALUES (101, now(), 'y')")
        sick = """SELECT count(*) FROM system_issues WHERE issue_type = 'cursor_source_error' AND resolved_at IS NULL"""
        eventually(lambda: number(admin, sick) > 0, what="a finding of the source that cannot be read")
        admin.execute(
            "INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('n', 'meanwhile', now())"
        )
        other = "SELECT count(*) FROM oneroof.governance_candidate_state WHERE candidate_key = 'n:meanwhile'"
        eventually(lambda: number(admin, other) == 1, what="another source to be followed meanwhile")
        admin.execute("ALTER TABLE fourth RENAME COLUMN g TO f")
        eventually(lambda: number(admin, have) == 101, what="the mended source to be followed")
        eventually(lambda: number(admin, sick) == 0, what="its finding to be closed")
        admin.execute("ALTER TABLE fourth RENAME COLUMN k TO l; INSERT INTO fourth VALUES (102, now(), 'y')")
        eventually(lambda: number(admin, sick) > 0, what="a finding of the source without its key")
        admin.execute("ALTER TABLE fourth RENAME COLUMN l TO k")
        eventually(lambda: number(admin, have) == 102, what="the source to be followed by its key")
        eventually(lambda: number(admin, sick) == 0, what="its finding to be closed again")
        admin.execute("DROP TABLE fourth")
        eventually(lambda: number(admin, sick) == 1, what="a finding of the source that was dropped")
        admin.execute("INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('n', 'after', now())")
        after = "SELECT count(*) FROM oneroof.governance_candidate_state WHERE candidate_key = 'n:after'"
        eventually(lambda: number(admin, after) == 1, what="the others to go on after a source was dropped")


def test_own_rows_in_a_channel_are_counted_and_start_no_work(dsn: str) -> None:
    """What oneroof writes into the changelog is seen by the tail like any row, and marked as its own."""
    with connect(dsn) as admin:
        assert command("run", "--until-idle", dsn=dsn).code == 0
        seen = "SELECT events_seen FROM oneroof.gov_worker_cursor WHERE source_name = 'registry_changelog'"
        before = number(admin, seen)
        assert command("pause", "backfill_sweep", dsn=dsn).code == 0
        assert command("resume", "backfill_sweep", dsn=dsn).code == 0
        assert command("run", "handoff_intake", "--until-idle", dsn=dsn).code == 0
        assert number(admin, seen) == before + 2
        own = (
            "SELECT last_run_summary ->> 'own' FROM oneroof.gov_worker_cursor WHERE source_name = 'registry_changelog'"
        )
        assert number(admin, own) == 2
        assert number(admin, "SELECT count(*) FROM oneroof.governance_candidate_state WHERE dirty") == 0


def test_what_a_run_says_elsewhere_than_on_a_terminal_is_json_lines(dsn: str) -> None:
    """Each line an object with a time, a level and an event."""
    ran = command("run", "--once", dsn=dsn)
    lines = [json.loads(line) for line in ran.err.splitlines()]
    assert {line["event"] for line in lines} >= {"begin", "end"}
    assert all({"timestamp", "level"} <= set(line) for line in lines)
    assert lines[0]["workers"] == list(supervisor.NAMES)


def test_a_gate_that_closes_ends_a_run_until_idle_and_is_waited_for_by_others(dsn: str) -> None:
    """Leases are given back while it is closed."""
    with connect(dsn) as admin, running(dsn):
        eventually(lambda: number(admin, SEEN) > 0, what="the run to be under way")
        assert command("gate", "close", "governance.workers_enabled", dsn=as_user(dsn, "requester")).code == 0
        held = "SELECT count(*) FROM queue_heartbeat WHERE executor_name LIKE 'gov%' AND lease_owner IS NOT NULL"
        eventually(lambda: number(admin, held) == 0, what="the leases to be given back")
        assert command("run", "--until-idle", dsn=dsn).code == 3


def test_a_lease_that_is_taken_away_is_a_finding_and_closes_when_it_is_had_again(dsn: str) -> None:
    """An instance whose lease another holds backs off and says so; when it has the lease again, the finding closes."""
    open_now = "SELECT count(*) FROM system_issues WHERE issue_type = 'cursor_lease_conflict' AND resolved_at IS NULL"
    mine = "executor_name = 'gov_backfill_sweep:birth_registry'"
    with connect(dsn) as admin:
        rows = number(admin, "SELECT count(*) FROM birth_registry")
        admin.execute("UPDATE oneroof.governance_worker_policy SET lease_ttl = '3 seconds'")
        with running(dsn, "backfill_sweep", "--instance", "first"):
            eventually(lambda: number(admin, SEEN) == rows, what="the sweep")
            admin.execute(f"UPDATE queue_heartbeat SET lease_owner = 'thief/1', last_tick_at = now() WHERE {mine}")
            eventually(lambda: number(admin, open_now) == 1, what="the conflict to be found")
            held = f"SELECT count(*) FROM queue_heartbeat WHERE {mine} AND lease_owner LIKE 'first/%'"
            eventually(lambda: number(admin, held) == 1, what="the lease to run out and be taken again")
            eventually(lambda: number(admin, open_now) == 0, what="the finding to be closed")


def test_a_second_instance_is_no_conflict(dsn: str) -> None:
    """What an instance does not hold, another one does: that is how they share the work."""
    found = "SELECT count(*) FROM system_issues WHERE issue_type = 'cursor_lease_conflict'"
    with connect(dsn) as admin, running(dsn, "backfill_sweep"), running(dsn, "backfill_sweep"):
        rows = number(admin, "SELECT count(*) FROM birth_registry")
        eventually(lambda: number(admin, "SELECT count(*) FROM oneroof.governance_instance") == 2, what="two instances")
        eventually(lambda: number(admin, SEEN) == rows, what="the sweep")
        assert number(admin, found) == 0
