"""The watch: a stopped worker is a finding within two TTLs, an idle one never (promise 9, doc 39 §39.6)."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

import inventory
import judging
from bed import Bed, as_user, command, connect, plan_nodes
from liveness import WORKER, Actor
from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import Refused
from oneroof.findings import store
from oneroof.judgement import judgements
from oneroof.people import owners
from oneroof.runtime import policy
from oneroof.runtime.watch import Seen, watch
from oneroof.sources import registration

GAP = f"cursor_silent_gap:{WORKER}:birth_registry"
LAG = f"cursor_lag:{WORKER}:birth_registry"
NOTHING = Seen(raised=[], cleared=[], open=0)
# What began has a signal, of a type that is not active here: one more finding for each type, which stays.
HELD = 1


@pytest.fixture
def actor(admin: Connection) -> Actor:
    found = Actor(admin)
    found.begin()
    assert found.claim()
    return found


def fail(admin: Connection, *, dead: int) -> None:
    """Dead letters of the worker that the other tests play."""
    admin.execute(
        "INSERT INTO oneroof.governance_retry"
        " (worker_name, source_name, source_key, key_mark, row_xid, state, sqlstate, last_error)"
        " SELECT %s, 'birth_registry', n, n, n, 'dead', '22000', 'x' FROM generate_series(1, %s) AS n",
        (WORKER, dead),
    )


def test_doc39_10_5_heartbeat(admin: Connection, actor: Actor) -> None:
    """Stop a worker: the gap is found within two TTLs, said once, and cleared by the first tick of its heir."""
    actor.at(45)
    assert watch(admin) == NOTHING
    actor.at(46)
    assert watch(admin) == Seen(raised=[GAP], cleared=[], open=1 + HELD)
    (found,) = store.listing(admin, bucket="silent_fail")
    assert (found.issue_type, found.subject, found.severity) == ("cursor_silent_gap", actor.executor, "high")
    assert found.details["lease_owner"] == "a/1"
    actor.at(600)
    assert watch(admin).raised == [LAG]
    actor.owner = "b/2"
    assert actor.claim()
    actor.work("frontier = '200', frontier_at = oneroof.gov_now()")
    assert watch(admin) == Seen(raised=[], cleared=[LAG, GAP], open=2 * HELD)
    assert watch(admin) == Seen(raised=[], cleared=[], open=2 * HELD)
    actor.at(700)
    actor.work("frontier_at = oneroof.gov_now()")
    assert watch(admin) == Seen(raised=[GAP], cleared=[], open=1 + 2 * HELD)
    assert [each.reopen_count for each in store.listing(admin, bucket="silent_fail")] == [1]


def test_the_threshold_follows_the_policy(admin: Connection, actor: Actor) -> None:
    """A worker with a TTL of ten seconds is found within twenty."""
    policy.set_values(admin, WORKER, {"lease_ttl": "10 seconds"})
    actor.at(15)
    assert watch(admin) == NOTHING
    actor.at(16)
    assert watch(admin).raised == [GAP]


def test_an_idle_worker_is_never_a_finding(admin: Connection, actor: Actor) -> None:
    """It ticks, and its frontier goes on: an hour of nothing to do."""
    for seconds in range(0, 3600, 40):
        actor.at(seconds)
        actor.tick()
        actor.work("frontier_at = oneroof.gov_now()")
        assert watch(admin) == NOTHING, seconds


def test_who_gave_its_lease_back_is_not_dead(admin: Connection, actor: Actor) -> None:
    """A worker that ended as it should leaves no gap."""
    admin.execute("SELECT oneroof.gov_lease_release(ARRAY[%s], ARRAY['a/1'])", (actor.executor,))
    actor.at(200)
    assert watch(admin) == NOTHING


def test_a_paused_worker_is_neither_silent_nor_late(admin: Connection, actor: Actor) -> None:
    """Nor what was found before; resumed and still silent, it is found again."""
    actor.at(400)
    assert watch(admin) == Seen(raised=[LAG, GAP], cleared=[], open=2 + 2 * HELD)
    policy.pause(admin, WORKER)
    assert watch(admin) == Seen(raised=[], cleared=[LAG, GAP], open=2 * HELD)
    policy.resume(admin, WORKER)
    assert watch(admin).raised == [LAG, GAP]


def test_a_frontier_too_old_is_lag(admin: Connection, actor: Actor) -> None:
    """Beyond the limit of the policy, while ticking; also when nobody runs it."""
    actor.at(300)
    actor.tick()
    assert watch(admin) == NOTHING
    actor.at(301)
    actor.tick()
    assert watch(admin) == Seen(raised=[LAG], cleared=[], open=1 + HELD)
    assert store.listing(admin, bucket="silent_fail")[0].details["pinned_by"] is None
    policy.set_values(admin, WORKER, {"lag_limit": "1 hour"})
    assert watch(admin).cleared == [LAG]
    admin.execute("SELECT oneroof.gov_lease_release(ARRAY[%s], ARRAY['a/1'])", (actor.executor,))
    actor.at(3601)
    assert watch(admin).raised == [LAG]


def test_a_first_sweep_is_never_late(admin: Connection) -> None:
    """Neither while it has no frontier yet, nor after it has closed its window for good."""
    seeding = Actor(admin, worker="gov_backfill_sweep")
    seeding.begin(phase="seeding", frontier=None, window_horizon="500")
    seeding.work("frontier_at = NULL")
    done = Actor(admin, worker="gov_backfill_sweep", source="other")
    done.begin()
    done.at(9999)
    assert watch(admin) == NOTHING
    done.work("window_horizon = '500'")
    assert watch(admin).raised == ["cursor_lag:gov_backfill_sweep:other"]


def test_a_look_that_finds_nothing_new_writes_nothing(admin: Connection, actor: Actor) -> None:
    """An open finding seen again at once keeps its row version, and the look takes no transaction number."""
    actor.at(400)
    watch(admin)
    version = "SELECT array_agg(ctid::text ORDER BY id) FROM system_issues WHERE source_system = 'oneroof'"
    before = one(admin, version)
    with transaction(admin, doing="looking"):
        assert watch(admin) == Seen(raised=[], cleared=[], open=2 + 2 * HELD)
        assert one(admin, "SELECT pg_current_xact_id_if_assigned() IS NULL") == (True,)
    assert one(admin, version) == before


def test_a_state_that_lasts_is_seen_again_and_has_not_happened_again(admin: Connection, actor: Actor) -> None:
    """Looked at again half a minute later it is the same occurrence; ended and begun again it is another."""
    actor.at(400)
    watch(admin)
    first = {found.coalesce_key: found.last_seen_at for found in store.listing(admin, bucket="silent_fail")}
    actor.at(431)
    assert watch(admin).raised == []
    again = store.listing(admin, bucket="silent_fail")
    assert {found.occurrence_count for found in again} == {1}
    assert all(found.last_seen_at > first[found.coalesce_key] for found in again)
    host = "SELECT bool_and(last_seen_at = %s) FROM system_issues WHERE source_system = 'oneroof' AND status = 'open'"
    host += " AND bucket = 'silent_fail'"
    assert one(admin, host, (again[0].last_seen_at,)) == (True,)
    actor.tick()
    actor.at(831)
    watch(admin)
    (gap,) = [found for found in store.listing(admin) if found.coalesce_key == GAP]
    assert gap.occurrence_count == 2


def test_many_who_watch_raise_one_finding(admin: Connection, actor: Actor, installed_database: str) -> None:
    """Six at once, three times over: each finding is raised by one of them, and none fails."""
    actor.at(400)
    start = threading.Barrier(6)
    looks: list[Seen] = []

    def go() -> None:
        with connect(installed_database) as connection:
            start.wait()
            for _ in range(3):
                looks.append(watch(connection))

    threads = [threading.Thread(target=go) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(looks) == 18
    assert sorted(key for look in looks for key in look.raised) == [LAG, GAP]
    rows = "SELECT count(*), max(reopen_count) FROM system_issues WHERE source_system = 'oneroof'"
    assert one(admin, rows) == (2 + 2 * HELD, 0)


def test_a_conflict_that_ended_is_cleared(admin: Connection, actor: Actor) -> None:
    """Two minutes after it was last seen, and not before."""
    key = f"cursor_lease_conflict:{actor.executor}"

    def conflict() -> None:
        store.raise_finding(admin, "cursor_lease_conflict", subject=actor.executor, title="two want it", details={})

    conflict()
    actor.at(100)
    actor.tick()
    conflict()
    actor.at(220)
    actor.work("frontier_at = oneroof.gov_now()")
    actor.tick()
    assert watch(admin) == Seen(raised=[], cleared=[], open=1)
    actor.at(221)
    assert watch(admin) == Seen(raised=[], cleared=[key], open=0)


def test_dead_letters_that_were_dealt_with_clear_their_findings(admin: Connection, actor: Actor) -> None:
    """The overflow when there are no more than allowed, the finding itself when none is left."""
    policy.set_values(admin, WORKER, {"dlq_limit": "2"})
    fail(admin, dead=3)
    for kind in ("cursor_dlq", "handoff_dlq_overflow"):
        store.raise_finding(admin, kind, subject=actor.executor, title="x", details={})
    assert watch(admin) == Seen(raised=[], cleared=[], open=2)
    admin.execute("UPDATE oneroof.governance_retry SET state = 'resolved' WHERE source_key = '1'")
    assert watch(admin).cleared == [f"handoff_dlq_overflow:{actor.executor}"]
    admin.execute("UPDATE oneroof.governance_retry SET state = 'done' WHERE source_key <> '1'")
    assert watch(admin).cleared == [f"cursor_dlq:{actor.executor}"]


def test_a_cursor_that_is_gone_leaves_no_finding(admin: Connection, actor: Actor) -> None:
    """Its source was removed: nobody is late for it any more; other kinds of finding are left to who raised them."""
    actor.at(400)
    store.raise_finding(admin, "cursor_source_error", subject=actor.executor, title="x", details={})
    assert watch(admin).open == 3 + 2 * HELD
    admin.execute("DELETE FROM oneroof.gov_worker_cursor")
    assert watch(admin) == Seen(raised=[], cleared=[LAG, GAP], open=1 + 2 * HELD)


def test_whoever_was_sick_and_has_worked_since_is_well(admin: Connection, actor: Actor) -> None:
    """Also if it was sick in a process that is no more."""
    sick = f"cursor_source_error:{actor.executor}"
    actor.at(1)
    store.raise_finding(admin, "cursor_source_error", subject=actor.executor, title="x", details={})
    assert watch(admin) == Seen(raised=[], cleared=[], open=1)
    actor.at(2)
    actor.work("frontier_at = oneroof.gov_now()")
    assert watch(admin) == Seen(raised=[], cleared=[sick], open=0)


def test_a_source_whose_table_was_dropped_is_a_finding(admin: Connection, installed_database: str) -> None:
    """Until it is removed; nobody else says that it is there no more."""
    admin.execute("CREATE TABLE short_lived (id int PRIMARY KEY)")
    assert command("source", "add", "short_lived", "--key", "id", dsn=installed_database).code == 0
    admin.execute("DROP TABLE short_lived")
    lost = "cursor_source_error:source:short_lived"
    assert lost in watch(admin).raised
    checked = command("source", "check", "--json", dsn=installed_database)
    assert (checked.code, "not there any more" in checked.json["short_lived"][0]) == (1, True)
    assert "source remove short_lived" in command("source", "list", dsn=installed_database).err
    assert command("source", "trust", "short_lived", "--reason", "x", dsn=installed_database).code == 3
    assert command("source", "remove", "short_lived", dsn=installed_database).code == 0
    assert watch(admin).cleared == [lost]
    assert command("source", "check", dsn=installed_database).code == 0


LIMIT = timedelta(minutes=5)


def age_candidates(admin: Connection, which: str, *, by: timedelta) -> None:
    """Let time go by for some of them alone."""
    admin.execute(
        "UPDATE oneroof.governance_candidate_state SET dirtied_at = dirtied_at - %(by)s, stale_after = stale_after"
        " - %(by)s"
        f" WHERE {which}",
        {"by": by},
    )


@pytest.fixture
def judged(admin: Connection, installed_database: str) -> str:
    """An inventory whose verdicts hold for a while; the subject of findings about its scan."""
    tailed = inventory.make(admin)
    admin.execute("INSERT INTO src SELECT n, now(), 'code ' || n FROM generate_series(1, 20) AS n")
    owned = "level,subject,responsibility,owner,valid_from,valid_to\nscope,*,policy,GOV-COUNCIL,,\n"
    with connect(as_user(installed_database, "requester")) as operator:
        owners.take(operator, owned.encode(), form="csv")
    inventory.sweep(admin, tailed, batch=100)
    judging.judge(admin, tailed)
    watch(admin)
    return "gov_candidate_scan:src"


@pytest.mark.parametrize("state", ["pending", "ready"])
def test_candidates_that_wait_too_long_for_their_verdict_are_a_finding(
    admin: Connection, judged: str, state: str
) -> None:
    """Before the gate or behind it; raised by the look after the limit, once, and closed by the one after the scan."""
    lag = f"scan_lag:{judged}"
    admin.execute(
        "UPDATE oneroof.governance_candidate_state SET dirty = true, dirtied_at = now(), input_quality_state = %s"
        " WHERE source_key = '7'",
        (state,),
    )
    age_candidates(admin, "dirty", by=LIMIT - timedelta(minutes=1))
    assert watch(admin).raised == []
    age_candidates(admin, "dirty", by=timedelta(minutes=2))
    assert watch(admin).raised == [lag]
    assert watch(admin).raised == []
    (found,) = [each for each in store.listing(admin) if each.issue_type == "scan_lag"]
    assert (found.subject, found.details) == (judged, {"source": "src", "limit": "00:05:00"})
    judging.judge(admin, registration.find(admin, "src"))
    assert watch(admin).cleared == [lag]


def test_verdicts_that_stay_stale_are_a_finding_until_they_are_renewed(admin: Connection, judged: str) -> None:
    """Not those that the next turn of the scan renews: only where it is behind, or where nobody expires them at all."""
    tailed, stale, lag = registration.find(admin, "src"), f"stale_verdict:{judged}", f"scan_lag:{judged}"
    (verdicts,) = one(
        admin,
        "SELECT count(*) FROM oneroof.governance_candidate_state WHERE source_name = 'src' AND stale_after IS NOT NULL",
    )
    assert verdicts == 20
    (held,) = one(
        admin, "SELECT max(stale_after) - now() FROM oneroof.governance_candidate_state WHERE source_name = 'src'"
    )
    age_candidates(admin, "source_name = 'src'", by=held)
    assert watch(admin).raised == []
    age_candidates(admin, "source_name = 'src'", by=LIMIT + timedelta(minutes=1))
    assert watch(admin).raised == [stale], "its time was over long ago and nobody has said so"

    assert judgements.call(admin, "expire", tailed, most=100) == 20
    assert watch(admin).cleared == [stale], "the scan has begun"
    age_candidates(admin, "verdict = 'stale'", by=LIMIT + timedelta(minutes=1))
    assert watch(admin).raised == [lag, stale]
    assert one(admin, "SELECT count(*) FROM oneroof.governance_object") == (0,)
    judging.judge(admin, tailed)
    assert watch(admin).cleared == [lag, stale]


def test_the_look_at_candidates_takes_the_oldest_from_an_index(admin: Connection) -> None:
    """However many there are and however many are dirty, whatever the planner knows of them."""
    admin.execute("ALTER TABLE oneroof.governance_candidate_state SET (autovacuum_enabled = off)")
    admin.execute("ANALYZE oneroof.governance_candidate_state")
    admin.execute(
        """INSERT INTO oneroof.governance_candidate_state (candidate_key, ruleset_version, group_key, source_name,
               source_key,
             source_version, facts_hash, dirty, dirtied_at, stale_after, input_quality_state)
           SELECT n, 'v', 'g', 'birth_registry', n, '3', n, n % 3 = 0, now(), now() + interval '1 day',
                  CASE WHEN n % 2 = 0 THEN 'pending' ELSE 'ready' END
           FROM generate_series(1, 30000) AS n"""
    )
    size = "SELECT pg_relation_size('oneroof.governance_candidate_state') / current_setting('block_size')::int"
    (pages,) = one(admin, size)
    look = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM oneroof.gov_scan_oldest()"
    # The first time the catalog is read as well.
    plan = [one(admin, look)[0][0]["Plan"] for _ in range(2)][-1]
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 150 < pages
    with admin.transaction(force_rollback=True):
        (whole,) = one(admin, "EXPLAIN (ANALYZE, FORMAT JSON) " + queries("runtime/watch")["reconcile"])
    looks = [node for node in plan_nodes(whole[0]["Plan"]) if "candidate_state" in node.get("Relation Name", "")]
    assert [(node["Node Type"], node["Actual Rows"] * node["Actual Loops"]) for node in looks] == [("Index Scan", 1)]


def test_watching_needs_the_workers_role(actor: Actor, installed_database: str) -> None:
    """An operator's login is refused, in one sentence."""
    assert actor.executor
    with connect(as_user(installed_database, "viewer")) as viewer, pytest.raises(Refused, match="permission denied"):
        watch(viewer)


def test_who_pins_the_horizon_is_named(lone_bed: Bed) -> None:
    """Blind, not dead, not quiet: with the pid of a session, then with the gid of a prepared transaction."""
    with lone_bed.database(lone_bed.installed()) as name, connect(lone_bed.dsn(name)) as admin:
        elsewhere = connect(lone_bed.dsn("postgres"), application_name="nightly report")
        elsewhere.execute("BEGIN")
        elsewhere.execute("SELECT pg_current_xact_id()")
        (horizon,) = one(admin, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text")
        actor = Actor(admin)
        actor.begin(frontier=horizon)
        actor.claim()
        actor.work()
        assert actor.seen().state == "working"
        actor.at(30)
        actor.tick()
        assert (actor.seen().state, actor.seen().pinned_by) == ("quiet", None)
        actor.at(31)
        actor.tick()
        culprit = f"pid {elsewhere.info.backend_pid} (nightly report) in database postgres"
        assert (actor.seen().state, actor.seen().pinned_by) == ("blind", culprit)
        assert watch(admin) == NOTHING
        actor.at(301)
        actor.tick()
        assert watch(admin).raised == [LAG]
        assert store.listing(admin)[0].details["pinned_by"] == culprit

        elsewhere.execute("ROLLBACK")
        assert actor.seen().state == "quiet"
        assert actor.seen().pinned_by is None

        elsewhere.execute("BEGIN")
        elsewhere.execute("SELECT pg_current_xact_id()")
        elsewhere.execute("PREPARE TRANSACTION 'it''s forgotten'")
        (horizon,) = one(admin, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text")
        actor.work(f"frontier = '{horizon}', frontier_at = oneroof.gov_now()")
        assert watch(admin).cleared == [LAG]
        actor.at(333)
        actor.tick()
        assert actor.seen().state == "blind"
        assert actor.seen().pinned_by == "prepared transaction 'it''s forgotten' in database postgres"
        elsewhere.execute("ROLLBACK PREPARED 'it''s forgotten'")
        assert actor.seen().state == "quiet"
        elsewhere.close()


def test_of_the_intake_the_same_is_said_in_the_words_of_the_handoff(admin: Connection) -> None:
    """Doc 32 §8, doc 41 §41.11.6: `handoff_silent_gap`, `handoff_lag` and `handoff_dlq` open with a signal, and close
    by themselves.
    """
    actor = Actor(admin, worker="gov_handoff_intake")
    actor.begin()
    actor.claim()
    admin.execute(
        "INSERT INTO oneroof.governance_retry (worker_name, source_name, source_key, key_mark, row_xid, state,"
        " sqlstate,"
        " last_error) VALUES ('gov_handoff_intake', 'birth_registry', '1', '1', 1, 'dead', '22000', 'x')"
    )
    actor.at(400)
    raised = {key.split(":")[0] for key in watch(admin).raised}
    assert raised >= {"handoff_silent_gap", "handoff_lag", "handoff_dlq"}
    hints = "SELECT event_type_hint FROM event_pending WHERE event_type_hint LIKE 'governance.handoff.%' ORDER BY 1"
    assert [hint for (hint,) in admin.execute(hints)] == [
        "governance.handoff.dlq",
        "governance.handoff.lag",
        "governance.handoff.silent_gap",
    ]
    admin.execute("UPDATE oneroof.governance_retry SET state = 'resolved'")
    admin.execute("UPDATE oneroof.gov_worker_cursor SET frontier_at = oneroof.gov_now()")
    actor.tick()
    cleared = {key.split(":")[0] for key in watch(admin).cleared}
    assert cleared >= {"handoff_silent_gap", "handoff_lag", "handoff_dlq"}
    assert watch(admin).cleared == []
