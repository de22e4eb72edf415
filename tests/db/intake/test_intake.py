"""The intake after the first sweep: what it sees, when, and how often (promises 1 and 2)."""

from __future__ import annotations

from datetime import UTC
from time import monotonic, sleep

import pytest
from psycopg import sql

import inventory
from bed import Bed, connect, eventually
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.fence import lease
from oneroof.intake import frontier_pass
from oneroof.sources import registration
from oneroof.workers import backfill_sweep, handoff_intake
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.handoff_intake import HandoffIntake

SEEN = "SELECT events_seen FROM oneroof.gov_worker_cursor WHERE worker_name = 'gov_handoff_intake' AND source_name = %s"
REMEMBERED = (
    "SELECT (SELECT count(*) FROM oneroof.governance_open_row) + (SELECT count(*) FROM oneroof.governance_open_span)"
)
HAVE = "SELECT count(*) FROM oneroof.governance_candidate_state WHERE candidate_key = %s"


def swept(connection: Connection, name: str = "birth_registry") -> HandoffIntake:
    """The intake of an inventory whose first sweep is done, with a frontier that never rests."""
    found = registration.find(connection, name)
    inventory.settle(connection)
    held = lease.claim(connection, f"{backfill_sweep.NAME}:{name}", instance="test", ttl=3600)
    sweep = BackfillSweep(connection, found, held)
    while not sweep.run_once().idle:
        pass
    return begun(connection, name)


def begun(connection: Connection, name: str) -> HandoffIntake:
    held = lease.claim(connection, f"{handoff_intake.NAME}:{name}", instance="test", ttl=3600)
    intake = HandoffIntake(connection, registration.find(connection, name), held, sweep_interval=0)
    intake.run_once()
    return intake


def one_pass(intake: HandoffIntake) -> None:
    """From the opening of a window to its end."""
    closed = intake.windows_closed
    while intake.windows_closed < closed + 2:
        intake.run_once()


def test_a_pinned_horizon_delays_the_proof_and_not_the_work(admin: Connection, installed_database: str) -> None:
    """An old transaction is open: back-dated births and updates of old rows are applied in the next pass, and once."""
    intake = swept(admin)
    with connect(installed_database) as host, host.transaction():
        host.execute("SELECT pg_current_xact_id()")
        admin.execute(
            "INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('p', 'q', '2020-01-01')"
        )
        admin.execute("UPDATE birth_registry SET status = 'retired' WHERE id = 5")
        one_pass(intake)
        assert one(admin, HAVE, ("p:q",)) == (1,)
        assert one(admin, "SELECT change_number FROM oneroof.governance_candidate_state WHERE source_key = '5'") == (2,)
        assert one(admin, SEEN, ("birth_registry",)) == (2,)
        one_pass(intake)
        one_pass(intake)
        assert one(admin, SEEN, ("birth_registry",)) == (2,)
        assert one(admin, f"SELECT ({REMEMBERED}) >= 2") == (True,)
    (target,) = one(admin, "SELECT pg_current_xact_id()::text::bigint")
    passed = (
        "SELECT frontier::text::bigint > %s FROM oneroof.gov_worker_cursor WHERE worker_name = 'gov_handoff_intake'"
    )

    def beyond() -> bool:
        intake.run_once()
        return bool(one(admin, passed, (target,))[0])

    eventually(beyond, what="the frontier to move on")
    assert one(admin, SEEN, ("birth_registry",)) == (2,)

    def forgotten() -> bool:
        intake.run_once()
        return one(admin, REMEMBERED) == (0,)

    eventually(forgotten, what="the open set to be pruned")


def test_a_version_with_the_same_facts_is_counted_and_changes_nothing(admin: Connection) -> None:
    """A no-op update."""
    intake = swept(admin)
    admin.execute("UPDATE birth_registry SET status = status WHERE id BETWEEN 1 AND 10")
    one_pass(intake)
    assert one(admin, SEEN, ("birth_registry",)) == (10,)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_candidate_state WHERE dirty OR change_number > 1") == (
        0,
    )


def test_a_fact_that_becomes_the_empty_text_has_changed(admin: Connection) -> None:
    """NULL is not '', and two columns do not run into each other."""
    admin.execute("UPDATE birth_registry SET species_code = NULL, source_system = 'ab', actor_ref = '' WHERE id = 3")
    intake = swept(admin)
    for change in ("species_code = ''", "actor_ref = 'a', source_system = 'b'"):
        admin.execute(f"UPDATE birth_registry SET {change} WHERE id = 3")
        one_pass(intake)
    assert one(admin, "SELECT change_number FROM oneroof.governance_candidate_state WHERE source_key = '3'") == (3,)


def test_a_table_without_an_index_is_swept_by_pages_and_followed_by_the_frontier(admin: Connection) -> None:
    """No order to go by: neither a sort of the table nor a fast lane."""
    admin.execute("CREATE TABLE plain (k int NOT NULL, t timestamptz)")
    admin.execute("INSERT INTO plain SELECT n, now() FROM generate_series(1, 3000) AS n")
    added = registration.add(admin, "plain", key=["k"], timestamp="t")
    assert not added.in_index_order
    intake = swept(admin, "plain")
    assert one(admin, "SELECT events_seen FROM oneroof.gov_worker_cursor WHERE worker_name = 'gov_backfill_sweep'") == (
        3000,
    )
    admin.execute("INSERT INTO plain VALUES (9999, now())")
    one_pass(intake)
    assert one(admin, SEEN, ("plain",)) == (1,)
    assert one(admin, HAVE, ("plain:9999",)) == (1,)


def test_children_of_a_table_are_read_to_their_end(admin: Connection) -> None:
    """An ordinary table with a longer child: the walk does not stop at the end of the parent."""
    admin.execute("CREATE TABLE parent (k int NOT NULL, t text)")
    admin.execute("CREATE TABLE child () INHERITS (parent)")
    registration.add(admin, "parent", key=["k"])
    intake = swept(admin, "parent")
    admin.execute("INSERT INTO child SELECT n, repeat('x', 2000) FROM generate_series(1, 100) AS n")
    one_pass(intake)
    assert one(admin, SEEN, ("parent",)) == (100,)


def test_where_others_hide_their_transactions_nothing_better_than_an_overlap_is_known(lone_bed: Bed) -> None:
    """The owner's function sees when transactions began; without that right it says that it does not know."""
    oldest = "SELECT oneroof.gov_oldest_transaction(%(overlap)s::interval)::timestamp::text"
    with (
        lone_bed.database(lone_bed.installed()) as name,
        connect(lone_bed.dsn(name)) as admin,
        connect(lone_bed.dsn(name)) as other,
        other.transaction(),
        admin.transaction(),
    ):
        (began,) = one(other, "SELECT now()")
        admin.execute("SET LOCAL timezone = 'UTC'; SET LOCAL ROLE oneroof_worker")
        known = one(admin, oldest, {"overlap": "1 h"})[0]
        assert known <= began.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
        admin.execute("RESET ROLE; REVOKE pg_read_all_stats FROM oneroof_owner; SET LOCAL ROLE oneroof_worker")
        assert one(admin, oldest, {"overlap": "1 h"}) == (None,)


def test_columns_of_different_collations_make_one_key(admin: Connection) -> None:
    """Class and code in different collations, hashed, sorted and grouped all the same."""
    admin.execute('CREATE TABLE mixed (k int PRIMARY KEY, a text COLLATE "C", b text COLLATE "POSIX")')
    admin.execute("INSERT INTO mixed VALUES (1, 'a', 'b'), (2, 'c', 'd')")
    added = registration.add(admin, "mixed", key=["k"], ref="a", group_by=["a", "b"], facts=["b"])
    assert added.in_index_order
    intake = swept(admin, "mixed")
    admin.execute("UPDATE mixed SET b = 'e'")
    one_pass(intake)
    assert one(admin, SEEN, ("mixed",)) == (2,)


def test_what_passes_runs_the_whole_batch_again(admin: Connection) -> None:
    """A deadlock, a serialization failure, a lock time-out: repeated, nothing counted twice, nothing put aside."""
    intake = swept(admin)
    fault = sql.SQL(
        "CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF nextval('public.times') < 3 THEN RAISE EXCEPTION 'now' USING ERRCODE = {}; END IF; RETURN NEW; END $$"
    )
    for code in ("40P01", "40001", "55P03"):
        admin.execute("CREATE SEQUENCE times; GRANT USAGE ON SEQUENCE times TO PUBLIC")
        admin.execute(fault.format(sql.Literal(code)))
        admin.execute(
            "CREATE TRIGGER fail_once BEFORE INSERT ON oneroof.governance_open_span FOR EACH ROW EXECUTE FUNCTION"
            " fail_once()"
        )
        admin.execute(
            "INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('d', %s, now())", (code,)
        )
        one_pass(intake)
        assert one(admin, HAVE, (f"d:{code}",)) == (1,)
        admin.execute(
            "DROP TRIGGER fail_once ON oneroof.governance_open_span; DROP FUNCTION fail_once; DROP SEQUENCE times"
        )
    assert one(admin, SEEN, ("birth_registry",)) == (3,)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_retry") == (0,)


def test_until_idle_does_not_rest_on_a_window_that_somebody_else_had_opened(
    admin: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is killed when its walk is nearly through; then a row behind the walk changes. The next run until idle sees
    it, since it ends only after a window of its own.
    """
    intake = swept(admin)
    inventory.until_idle(HandoffIntake(admin, intake.source, intake.lease, at_once=True))
    monkeypatch.setattr(frontier_pass, "FEWEST", 2)
    monkeypatch.setattr(frontier_pass, "MOST", 2)
    half = HandoffIntake(admin, intake.source, intake.lease, sweep_interval=0)
    at = "SELECT coalesce((window_at ->> 'tid')::bigint, 0) FROM oneroof.gov_worker_cursor WHERE worker_name = %s"
    while one(admin, at, (handoff_intake.NAME,))[0] == 0:
        half.run_once()
    admin.execute("UPDATE birth_registry SET status = 'changed' WHERE id = 7")
    inventory.until_idle(HandoffIntake(admin, intake.source, intake.lease, at_once=True))
    changes = "SELECT change_number FROM oneroof.governance_candidate_state WHERE source_key = '7'"
    assert one(admin, changes) == (2,)


def test_a_pass_waits_while_nothing_is_written_and_what_is_not_counted_is_found_all_the_same(
    admin: Connection, installed_database: str
) -> None:
    """By the server's counters a table rests; a back-dated row ends the rest, counted or not."""
    interval = 0.5
    inventory.settle(admin)
    intake = swept(admin)
    one_pass(intake)
    admin.execute("SELECT pg_stat_force_next_flush()")
    intake = HandoffIntake(admin, intake.source, intake.lease, sweep_interval=interval)
    while not intake.windows_closed:
        intake.run_once()
    ended = monotonic() + 2 * interval
    while monotonic() < ended:
        assert intake.run_once().idle
        sleep(interval / 10)
    assert intake.windows_closed == 1

    back_dated = "INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('old', %s, '2020-01-01')"
    admin.execute(back_dated, ("counted",))
    admin.execute("SELECT pg_stat_force_next_flush()")
    ended = monotonic() + 4 * interval
    while one(admin, HAVE, ("old:counted",)) != (1,) and monotonic() < ended:
        intake.run_once()
    assert one(admin, HAVE, ("old:counted",)) == (1,)

    with connect(installed_database) as host:
        host.execute("SET track_counts = off")
        host.execute(back_dated, ("uncounted",))
    ended = monotonic() + 60
    while one(admin, HAVE, ("old:uncounted",)) != (1,) and monotonic() < ended:
        intake.run_once()
    assert one(admin, HAVE, ("old:uncounted",)) == (1,)
    assert one(admin, SEEN, ("birth_registry",)) == (2,)


def test_while_there_is_news_the_pass_goes_on_and_passes_nothing_by(
    admin: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two looks at the newest rows it takes a short range; what it has not passed yet it finds then."""
    monkeypatch.setattr(frontier_pass, "FEWEST", 1)
    monkeypatch.setattr(frontier_pass, "MOST", 1)
    intake = swept(admin)
    one_pass(intake)
    admin.execute("VACUUM birth_registry")
    admin.execute("DELETE FROM birth_registry WHERE ctid <= '(0,3)'::tid")
    admin.execute("VACUUM birth_registry")
    closed, news = intake.windows_closed, 0
    back_dated = "INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('old', %s, '2020-01-01')"
    # A version in place of a dead one, in the first page, and a back-dated row at the end.
    for code in ("a", "b", "c", "d"):
        admin.execute(back_dated, (code,))
    while intake.windows_closed < closed + 2:
        news += 1
        admin.execute("INSERT INTO birth_registry (collection_name, entity_code) VALUES ('new', %s)", (str(news),))
        assert not intake.run_once().idle
    (pages,) = one(admin, "SELECT pg_relation_size('birth_registry') / 8192")
    assert news > pages > 10
    assert [one(admin, HAVE, (f"old:{code}",)) for code in ("a", "b", "c", "d")] == [(1,)] * 4
    one_pass(intake)
    assert one(admin, SEEN, ("birth_registry",)) == (4 + news,)


def test_changes_are_not_taken_for_births(admin: Connection) -> None:
    """Many rows that were all written are a streak of births only if they were born: who believes it of changes fails
    once for every piece.
    """
    intake = swept(admin)
    admin.execute("UPDATE birth_registry SET status = 'changed' WHERE id <= 900")
    one_pass(intake)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_candidate_state WHERE change_number = 2") == (900,)
    assert not intake.frontier.streak.lasts()
    admin.execute(
        "INSERT INTO birth_registry (collection_name, entity_code) SELECT 'b', n FROM generate_series(1, 900) AS n"
    )
    one_pass(intake)
    assert intake.frontier.streak.lasts()
