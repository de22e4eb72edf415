"""A candidate that changes is written where it lies, and what it is found by stays as it is."""

from __future__ import annotations

import pytest
from psycopg import sql

import inventory
import judging
from bed import as_user, connect, set_clock
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.people import owners
from oneroof.sources.source import Source

OWNED = "level,subject,responsibility,owner,valid_from,valid_to\nscope,*,policy,GOV-COUNCIL,,"
UPDATES = """SELECT pg_stat_get_tuples_updated('oneroof.governance_candidate_state'::regclass),
       pg_stat_get_tuples_hot_updated('oneroof.governance_candidate_state'::regclass)"""
CANDIDATE = "SELECT group_key, change_number FROM oneroof.governance_candidate_state WHERE source_key = %s"
# By this session, and not counted for everybody yet.
READ = """SELECT pg_stat_get_xact_tuples_fetched('oneroof.governance_candidate_state'::regclass),
       pg_stat_get_xact_tuples_returned('oneroof.governance_candidate_state'::regclass)"""
JUDGED_BY = """FROM oneroof.governance_candidate_state AS c JOIN oneroof.governance_fact_set AS f USING
         (facts_hash, source_name)
WHERE c.candidate_key = %s"""
EXPIRY = "SELECT stale_after, scan_time FROM oneroof.governance_candidate_state WHERE candidate_key = %s"


def updates(admin: Connection) -> tuple[int, int]:
    """How often a candidate was updated, and how often no index heard of it."""
    admin.execute("SELECT pg_stat_force_next_flush()")
    admin.execute("SELECT pg_stat_clear_snapshot()")
    return one(admin, UPDATES)


@pytest.fixture
def judged(admin: Connection, installed_database: str) -> Source:
    """The births, owned, swept and judged."""
    births = judging.births(admin)
    with connect(as_user(installed_database, "requester")) as operator:
        owners.take(operator, OWNED.encode(), form="csv")
    judging.sweep(admin, births)
    judging.judge(admin, births)
    return births


def swap_statuses(admin: Connection, collection: str) -> int:
    """Every fortieth object of a collection that was born becomes active, of which others are known; how many."""
    return admin.execute(
        "UPDATE birth_registry SET status = 'active' WHERE status = 'born' AND collection_name = %s AND id %% 40 = 0",
        (collection,),
    ).rowcount


def test_no_index_hears_of_a_change_to_facts_that_were_judged(admin: Connection, judged: Source) -> None:
    """Facts, group and verdict are others; the row is in its page, and no index has a new entry."""
    (collection,) = one(
        admin, "SELECT collection_name FROM birth_registry GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"
    )
    # The first round makes the facts known.
    for status in ("active", "born"):
        admin.execute("UPDATE birth_registry SET status = %s WHERE collection_name = %s", (status, collection))
        judging.intake(admin, judged)
        judging.judge(admin, judged)
    admin.execute("VACUUM oneroof.governance_candidate_state")
    updated, hot = updates(admin)
    changed = swap_statuses(admin, collection)
    assert changed > 1
    judging.intake(admin, judged)
    after, hot_after = updates(admin)
    assert after - updated == changed
    assert hot_after - hot == changed
    judging.check(admin)


def test_a_verdict_that_is_given_anew_keeps_its_end_while_that_holds(admin: Connection, judged: Source) -> None:
    """A fifth of its time later it keeps the end that it had, two fifths later it has a new one; never a later one than
    its rule says.
    """
    key, row = one(
        admin,
        "SELECT candidate_key, source_key::int FROM oneroof.governance_candidate_state"
        " WHERE verdict <> 'retired' AND stale_after IS NOT NULL ORDER BY candidate_key LIMIT 1",
    )
    first, _ = one(admin, EXPIRY, (key,))
    ends = []
    (length,) = one(admin, f"SELECT f.stale_after {JUDGED_BY}", (key,))
    for share in (0.2, 0.4):
        set_clock(admin, f"{length.total_seconds() * share} seconds")
        admin.execute("UPDATE birth_registry SET actor_ref = actor_ref || '*' WHERE id = %s", (row,))
        judging.intake(admin, judged)
        judging.judge(admin, judged)
        ends.append(one(admin, EXPIRY, (key,))[0])
        holds = (
            "SELECT oneroof.gov_expiry_holds(c.stale_after, c.scan_time, f.stale_after) FROM"
            " oneroof.governance_candidate_state AS c"
        )
        joined = (
            f"{holds} JOIN oneroof.governance_fact_set AS f USING (facts_hash, source_name) WHERE c.candidate_key = %s"
        )
        assert one(admin, joined, (key,)) == (True,)
    assert ends[0] == first
    assert ends[1] > first


@pytest.mark.parametrize(
    ("stale_after", "length", "holds"),
    [
        ("2026-01-05", "4 days", True),
        ("2026-01-05 00:00:01", "4 days", False),
        ("2026-01-04 00:00:01", "4 days", True),
        ("2026-01-04", "4 days", False),
        ("2026-01-04", "100 years", False),
        (None, "4 days", False),
        ("2026-01-04", None, False),
        (None, None, True),
        ("infinity", "4 days", False),
        ("-infinity", "4 days", False),
        ("2026-02-01", "1 month", True),
    ],
)
def test_an_end_holds_that_is_not_late_and_not_much_too_early(
    admin: Connection, stale_after: str | None, length: str | None, holds: bool
) -> None:
    """Of a verdict that was given on New Year's Day."""
    said = one(
        admin,
        "SELECT oneroof.gov_expiry_holds(%s::timestamptz, '2026-01-01'::timestamptz, %s::interval)",
        (stale_after, length),
    )
    assert said == (holds,)


def test_a_class_that_has_heard_is_not_read_again_until_it_is_over(
    admin: Connection, judged: Source, installed_database: str
) -> None:
    """While somebody's transaction is open a changed judgement is not done with; nobody's members are read for it."""
    (collection,) = one(
        admin,
        "SELECT b.collection_name FROM birth_registry AS b JOIN collection_registry AS r USING (collection_name)"
        " GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1",
    )
    with connect(installed_database) as slow:
        slow.execute("BEGIN")
        slow.execute("SELECT pg_current_xact_id()")
        admin.execute(
            "UPDATE collection_registry SET coverage_scope_status = 'USER_EXCLUDED',"
            " coverage_status = 'BIRTH_DEFERRED_NEEDS_REVIEW' WHERE collection_name = %s",
            (collection,),
        )
        judging.judge(admin, judged)
        assert one(
            admin, "SELECT count(*) > 0, bool_and(is_heard) FROM oneroof.governance_fact_set WHERE is_spreading"
        ) == (
            True,
            True,
        )
        judging.check(admin)
        before = one(admin, READ)
        assert one(admin, "SELECT oneroof.gov_scan_spread('birth_registry'::text, 500::bigint)") == (0,)
        assert one(admin, READ) == before
    inventory.settle(admin)
    judging.judge(admin, judged)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_fact_set WHERE is_spreading OR is_heard") == (0,)


def test_a_set_that_spreads_and_that_nobody_has_judged_holds_nobody_up(admin: Connection, judged: Source) -> None:
    """Somebody wrote it behind our back: the scan comes to its end all the same."""
    admin.execute(
        "UPDATE oneroof.governance_fact_set SET is_spreading = true, judged_at = NULL"
        " WHERE facts_hash = (SELECT min(facts_hash) FROM oneroof.governance_fact_set)"
    )
    admin.execute("SET statement_timeout = '10s'")
    assert one(admin, "SELECT oneroof.gov_scan_spread('birth_registry'::text, 500::bigint)") == (0,)
    inventory.settle(admin)
    judging.judge(admin, judged)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_fact_set WHERE is_spreading OR is_heard") == (0,)


@pytest.mark.parametrize("at", ["at", "now() - make_interval(secs => 0.001 * id)"])
def test_whose_candidate_it_is_hears_of_his_change_beside_an_older_row_of_the_same_key(
    admin: Connection, at: str
) -> None:
    """Two rows with one key change in one batch: the one that the candidate was made of counts, whichever is older; by
    the walk, and, if their timestamps are new, by the fast lane.
    """
    tailed = inventory.make(admin)
    admin.execute("INSERT INTO src (id, at, code) VALUES (1, '2026-01-02', 'x')")
    inventory.sweep(admin, tailed)
    admin.execute("INSERT INTO src (id, at, code) VALUES (2, '2026-01-01', 'x')")
    inventory.intake(admin, tailed)
    assert one(admin, "SELECT source_key, candidate_key FROM oneroof.governance_duplicate") == ("2", "src:x")
    admin.execute(sql.SQL("UPDATE src SET status = 'changed', at = {}").format(sql.SQL(at)))
    inventory.intake(admin, tailed, batch=10)
    assert one(admin, CANDIDATE, ("1",)) == ("src/changed", 2)
