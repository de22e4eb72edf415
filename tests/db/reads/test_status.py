"""The status: states told apart, counts from the views, nothing written (doc 39 §39.7)."""

from __future__ import annotations

from bed import Bed, as_user, connect
from liveness import Actor
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.reads import status
from oneroof.runtime import policy


def test_the_states_are_told_apart(admin: Connection) -> None:
    """released, quiet, working, paused, dead, and back: each from what the database alone knows."""
    actor = Actor(admin)
    actor.begin()
    assert actor.seen().state == "released"
    actor.claim()
    assert (actor.seen().state, actor.seen().lease_owner) == ("quiet", "a/1")
    actor.work()
    assert actor.seen().state == "working"
    actor.at(11)
    assert actor.seen().state == "quiet"
    policy.pause(admin, actor.worker)
    assert actor.seen().state == "paused"
    policy.resume(admin, actor.worker)
    actor.at(46)
    assert actor.seen().state == "dead"
    assert not status.read(admin).is_well
    actor.tick()
    assert actor.seen().state == "quiet"
    assert status.read(admin).is_well
    admin.execute(
        "SELECT oneroof.gov_lease_hold(%s::text, 'a/1'::text, 'warn'::text, '0'::interval)", (actor.executor,)
    )
    assert (actor.seen().state, actor.seen().last_tick_status) == ("quiet", "warn")


def test_lag_frontier_and_items_are_shown(admin: Connection) -> None:
    """Seconds and xids behind, waiting and dead items of this cursor alone, the last run."""
    actor = Actor(admin)
    actor.begin(last_run_summary='{"rows_seen": 7}', metadata='{"batches": 12}')
    other = Actor(admin, source="registry_changelog")
    other.begin(metadata='{"batches": "nonsense"}')
    for source, state in (("birth_registry", "waiting"), ("birth_registry", "dead"), ("registry_changelog", "dead")):
        admin.execute(
            "INSERT INTO oneroof.governance_retry"
            " (worker_name, source_name, source_key, key_mark, row_xid, state, sqlstate, last_error)"
            " VALUES (%s, %s, %s, %s, 1, %s, '22000', 'x')",
            (actor.worker, source, state, state, state),
        )
    actor.work("last_watermark_ts = oneroof.gov_now()")
    actor.at(50)
    seen = actor.seen()
    assert (seen.waiting, seen.dead, seen.batches_done) == (1, 1, 12)
    assert seen.last_run_summary == {"rows_seen": 7}
    assert (seen.lag_seconds, seen.frontier_seconds) == (50, 50)
    (newest,) = one(admin, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
    assert 0 < (seen.frontier_xids or 0) <= newest - 100
    assert (other.seen().waiting, other.seen().dead, other.seen().batches_done) == (0, 1, 0)
    found = status.read(admin)
    assert (found.depth.waiting, found.depth.dead) == (1, 2)
    actor.work("last_watermark_ts = 'infinity'")
    assert actor.seen().lag_seconds is None


def test_only_a_first_sweep_has_an_estimate_of_its_whole(admin: Connection) -> None:
    """From the planner's statistics, divided among shards; none where the source was never analysed."""
    sweep = Actor(admin, worker="gov_backfill_sweep")
    sweep.begin(phase="seeding", frontier=None, window_horizon="500")
    shard = Actor(admin, worker="gov_backfill_sweep", source="birth_registry#2/4")
    shard.begin(phase="seeding", frontier=None, window_horizon="500")
    tail = Actor(admin)
    tail.begin()
    policy.set_values(admin, "gov_backfill_sweep", {"batch_size": "300"})
    admin.execute("ANALYZE birth_registry")
    (rows,) = one(admin, "SELECT count(*) FROM birth_registry")
    assert (sweep.seen().rows_estimate, sweep.seen().batches_estimate) == (rows, -(-rows // 300))
    assert (shard.seen().rows_estimate, shard.seen().batches_estimate) == (rows // 4, -(-rows // 1200))
    assert (tail.seen().rows_estimate, tail.seen().batches_estimate) == (None, None)
    admin.execute("CREATE TABLE fresh (id int PRIMARY KEY)")
    admin.execute("UPDATE oneroof.governance_source SET relation = 'fresh' WHERE source_name = 'birth_registry'")
    assert sweep.seen().rows_estimate is None


def test_a_partitioned_source_is_the_sum_of_its_leaves(admin: Connection) -> None:
    """And unknown as long as one of them is."""
    sweep = Actor(admin, worker="gov_backfill_sweep")
    sweep.begin(phase="seeding", frontier=None, window_horizon="500")
    admin.execute("CREATE TABLE parted (id int) PARTITION BY RANGE (id)")
    admin.execute("CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (10)")
    admin.execute("CREATE TABLE high PARTITION OF parted FOR VALUES FROM (10) TO (100)")
    admin.execute("INSERT INTO parted SELECT generate_series(5, 24)")
    admin.execute("UPDATE oneroof.governance_source SET relation = 'parted' WHERE source_name = 'birth_registry'")
    admin.execute("ANALYZE low")
    assert sweep.seen().rows_estimate is None
    admin.execute("ANALYZE high")
    assert sweep.seen().rows_estimate == 20


def test_depth_counts_dirty_and_stale(admin: Connection) -> None:
    """Marks, and verdicts past their time; by partial indexes that hold nothing else."""
    admin.execute(
        "INSERT INTO oneroof.governance_candidate_state (candidate_key, ruleset_version, group_key, source_name,"
        " source_key,"
        " source_version, facts_hash, dirty, stale_after)"
        " SELECT n, 'x', 'g', 's', n, '1', 0, n <= 3, CASE WHEN n > 5000 THEN now() + (n - 5002) * interval '1 day' END"
        " FROM generate_series(1, 5005) AS n"
    )
    admin.execute("ANALYZE oneroof.governance_candidate_state")
    assert (status.read(admin).depth.dirty, status.read(admin).depth.stale) == (3, 2)
    plan = "\n".join(line for (line,) in admin.execute("EXPLAIN SELECT * FROM oneroof.v_governance_depth").fetchall())
    assert "governance_candidate_state_dirty" in plan
    assert "governance_candidate_state_stale" in plan
    assert "Seq Scan on governance_candidate_state" not in plan


def test_the_status_writes_nothing_and_any_reader_may_ask(admin: Connection, installed_database: str) -> None:
    """In a session that may not write, under a login that may only read summary views; our own backend pins nothing."""
    Actor(admin).begin()
    with connect(as_user(installed_database, "viewer")) as viewer:
        viewer.execute("SET default_transaction_read_only = on")
        found = status.read(viewer)
    assert [worker.source_name for worker in found.workers] == ["birth_registry"]
    with admin.transaction():
        admin.execute("SELECT pg_current_xact_id()")
        pinned_by = one(admin, "SELECT pinned_by FROM oneroof.v_horizon")[0]
        assert f"pid {admin.info.backend_pid} " not in (pinned_by or "")


def test_the_oldest_of_many_is_named_with_its_age(lone_bed: Bed) -> None:
    """Its seconds are for who may see them; whoever began later keeps nothing back."""
    with lone_bed.database(lone_bed.installed()) as name, connect(lone_bed.dsn(name)) as admin:
        assert status.read(admin).horizon.pinned_by is None
        older, newer = (connect(lone_bed.dsn(name), application_name=word) for word in ("older", "newer"))
        # Who began first is not who has the older xid.
        for session in (newer, older):
            session.execute("BEGIN")
        for session in (older, newer):
            session.execute("SELECT pg_current_xact_id()")
        horizon = status.read(admin).horizon
        assert horizon.pinned_by == f"pid {older.info.backend_pid} (older) in database {name}"
        assert (horizon.pinned_seconds or 0) > 0
        admin.execute("SELECT pg_current_xact_id()")
        assert status.read(admin).horizon.horizon_xids == 3
        with connect(lone_bed.dsn(name, user="viewer")) as viewer:
            seen = status.read(viewer).horizon
        assert (seen.pinned_by, seen.pinned_seconds) == (horizon.pinned_by, None)
        older.close()
        newer.close()
