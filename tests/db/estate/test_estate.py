"""What the estate promises: the seeds' tables and counts, the same every time, whole or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from psycopg import sql

from bed import Bed, as_user, connect, eventually
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import HeldElsewhere, OneroofError, Refused, Usage
from oneroof.estate.build import build, table_names
from oneroof.estate.logins import LOGINS
from oneroof.estate.volumes import LIVE_BIRTHS, volumes_of
from oneroof.host import expected_tables

# doc 31 §3
DECISIONS = {
    ("BIRTH_REQUIRED", "IN_SCOPE"): 74,
    ("BIRTH_DEFERRED_NEEDS_REVIEW", "USER_EXCLUDED"): 31,
    ("BIRTH_EXEMPT_STRUCTURAL_JUNCTION", "IN_SCOPE"): 20,
    ("BIRTH_DEFERRED_NEEDS_REVIEW", "FUTURE_SCOPE"): 17,
    ("BIRTH_EXEMPT_SYSTEM_LOG_OR_AUDIT", "IN_SCOPE"): 12,
    ("BIRTH_DEFERRED_NEEDS_REVIEW", "ORPHAN_REGISTRY"): 7,
    ("BIRTH_EXEMPT_DERIVED_CACHE", "IN_SCOPE"): 4,
    ("BIRTH_DEFERRED_NEEDS_REVIEW", "IN_SCOPE"): 3,
}
SMALL = {
    "event_type_registry": 40,
    "event_subscription": 3,
    "event_pending": 0,
    "queue_heartbeat": 3,
    "job_queue": 13,
    "iu_route_worker_cursor": 1,
    "collection_registry": 168,
    "meta_catalog": 169,
    "measurement_registry": 142,
    "derived_objects_registry": 7,
    "information_unit": 219,
    "dot_tools": 309,
    "pivot_definitions": 37,
    "estate_build": 1,
}


def count(connection: Connection, table: str, where: str = "true") -> int:
    return int(one(connection, f"SELECT count(*) FROM {table} WHERE {where}")[0])


def fingerprint(connection: Connection) -> dict[str, str]:
    """A hash of every table's rows, whatever their order."""
    return {
        table: one(
            connection,
            f"""SELECT md5(coalesce(string_agg(md5(t::text), '' ORDER BY md5(t::text) COLLATE "C"), ''))
                FROM {table} AS t""",
        )[0]
        for table in table_names()
        if table != "estate_build"
    }


def relations(connection: Connection) -> set[tuple[str, ...]]:
    return set(
        connection.execute(
            """SELECT 'relation', relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
               UNION ALL SELECT 'type', typname::text FROM pg_type WHERE typnamespace = 'public'::regnamespace
               UNION ALL SELECT 'routine', proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace"""
        ).fetchall()
    )


def test_volumes_are_the_seeds_at_the_default_and_scale_in_proportion() -> None:
    """doc 31 §1, doc 39 §39.2, doc 41 §41.2: the live counts; half the births, half of all."""
    live, half = volumes_of(LIVE_BIRTHS), volumes_of(LIVE_BIRTHS // 2)
    assert (live.births, live.certified, live.changes) == (1_037_724, 1_402, 68_323)
    assert (live.events, live.reads, live.issues, live.gaps) == (181_712, 181_351, 190_288, 345)
    assert (half.certified, half.changes, half.events, half.issues) == (701, 34_162, 90_856, 95_144)


def test_an_estate_has_its_volumes_and_the_small_registries_their_counts(empty_database: str) -> None:
    """Volumes scale with the births, small registries do not."""
    with connect(empty_database) as connection:
        estate = build(connection, rows=20_000)
        volumes = estate.volumes
        found = {
            "births": count(connection, "birth_registry"),
            "certified": count(connection, "birth_registry", "certified"),
            "changes": count(connection, "registry_changelog"),
            "events": count(connection, "event_outbox"),
            "reads": count(connection, "event_read"),
            "issues": count(connection, "system_issues"),
            "gaps": count(connection, "system_issues", "issue_type = 'collection_onboarding_gap'"),
        }
        assert found == {name: getattr(volumes, name) for name in found}
        assert {table: count(connection, table) for table in SMALL} == SMALL
        assert count(connection, "measurement_registry", "enabled") == 140


def test_births_are_skewed_over_78_collections_and_39_species(empty_database: str) -> None:
    """doc 31 §1: 78 collections, 39 species that follow them, born in order, mostly leaves, few not born."""
    with connect(empty_database) as connection:
        build(connection, rows=20_000)
        collections, species, pairs = one(
            connection,
            """SELECT count(DISTINCT collection_name), count(DISTINCT species_code),
                      count(DISTINCT (collection_name, species_code)) FROM birth_registry""",
        )
        assert (collections, species, pairs) == (78, 39, 78)
        assert count(connection, "birth_registry", "canonical_address IS NOT NULL") == 0
        assert count(connection, "birth_registry", "born_at IS NULL OR governance_role IS NULL") == 0
        (largest,) = one(
            connection, "SELECT max(n) FROM (SELECT count(*) AS n FROM birth_registry GROUP BY collection_name) AS c"
        )
        assert largest > 20_000 / 10
        roles: dict[str, int] = dict(
            connection.execute("SELECT governance_role, count(*) FROM birth_registry GROUP BY 1").fetchall()
        )
        assert set(roles) == {"leaf", "container", "root"}
        statuses: dict[str, int] = dict(
            connection.execute("SELECT status, count(*) FROM birth_registry GROUP BY 1").fetchall()
        )
        assert statuses["born"] > 0.95 * 20_000
        assert {"retired", "superseded", "draft"} <= set(statuses)
        backwards = one(
            connection,
            """SELECT count(*) FROM (SELECT born_at < lag(born_at) OVER (ORDER BY id) AS back FROM birth_registry) AS b
               WHERE back""",
        )
        assert backwards == (0,)
        assert one(
            connection,
            """SELECT min(born_at) = '2026-02-17 00:00:00+00', max(born_at) = '2026-06-01 00:00:00+00'
               FROM birth_registry""",
        ) == (True, True)


def test_doc31_3_coverage_distribution(empty_database: str) -> None:
    """doc 31 §3: 168 collections, eight decisions, each with births; every birth's collection is registered."""
    with connect(empty_database) as connection:
        build(connection, rows=5_000)
        found = connection.execute(
            """SELECT coverage_status, coverage_scope_status, count(*),
                      count(*) FILTER (WHERE EXISTS (SELECT FROM birth_registry AS b
                                                     WHERE b.collection_name = c.collection_name))
               FROM collection_registry AS c GROUP BY 1, 2"""
        ).fetchall()
        assert {(status, scope): number for status, scope, number, _ in found} == DECISIONS
        assert all(born > 0 for *_, born in found)
        unregistered = "collection_name NOT IN (SELECT collection_name FROM collection_registry)"
        assert count(connection, "birth_registry", unregistered) == 0
        owners = {owner for (owner,) in connection.execute("SELECT coverage_review_owner FROM collection_registry")}
        assert {None, "GOV-SIV", "GOV-SIV,GOV-DOT", "former-team"} <= owners


def test_keys_repeat_only_where_meant_and_a_few_members_are_unborn(empty_database: str) -> None:
    """Duplicates and birth-orphans exist, few of each, for the verdicts that need them (doc 31 §6, §7)."""
    with connect(empty_database) as connection:
        build(connection, rows=6_000)
        (repeated,) = one(
            connection,
            """SELECT count(*) FROM (SELECT FROM birth_registry GROUP BY collection_name, entity_code
                                     HAVING count(*) > 1) AS twice""",
        )
        assert repeated == 1
        for table, key in (("dot_tools", "dot_code"), ("derived_objects_registry", "code")):
            born = f"""EXISTS (SELECT FROM birth_registry WHERE collection_name = '{table}' AND entity_code = {key})"""
            assert 2 <= count(connection, table, f"NOT {born}") < count(connection, table) / 2
        assert one(
            connection,
            "SELECT array_agg(registry_collection) FROM meta_catalog WHERE to_regclass(registry_collection) IS NULL",
        ) == (["axis_registry"],)


def test_doc41_2_event_types_and_doc39_2_cursor(empty_database: str) -> None:
    """Five domains, none of them governance; the route worker stands at an event that exists."""
    with connect(empty_database) as connection:
        build(connection, rows=20_000)
        types = connection.execute(
            """SELECT event_domain, count(*), count(*) FILTER (WHERE active) FROM event_type_registry
               GROUP BY 1 ORDER BY 1"""
        ).fetchall()
        assert types == [("iu", 16, 16), ("mother", 9, 0), ("piece", 6, 6), ("staging", 5, 5), ("system", 4, 3)]
        unregistered = "(event_domain, event_type) NOT IN (SELECT event_domain, event_type FROM event_type_registry)"
        assert count(connection, "event_outbox", unregistered) == 0
        assert count(connection, "event_outbox", "event_domain = 'system' AND event_type = 'alert'") > 3_000
        assert count(connection, "iu_route_worker_cursor", "last_event_id IN (SELECT id FROM event_outbox)") == 1
        assert count(connection, "dot_config", "key LIKE 'governance.%'") == 0
        assert count(connection, "event_read", "event_id NOT IN (SELECT id FROM event_outbox)") == 0


def test_the_estate_is_the_substrate_that_the_seeds_expect(empty_database: str) -> None:
    """What is needed of a host is there, and beside it what the seeds name and no code of ours uses."""
    with connect(empty_database) as connection:
        build(connection, rows=50)
        made = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v')"
        assert {str(name) for (name,) in connection.execute(made)} == set(table_names())
        assert expected_tables.lacks(connection, schema="public") == []
        assert set(table_names()) - {table.name for table in expected_tables.tables()} == {
            "estate_build", "job_queue", "derived_objects_registry", "information_unit", "dot_tools",
            "binding_registry", "table_registry", "universal_rule_registry", "v_registry_counts",
            "iu_route_worker_cursor", "iu_route_attempt", "iu_outbound_route",
        }  # fmt: skip


@pytest.mark.parametrize("rows", [1, 2, 7, 50, 200, 999, 1_000])
def test_tiny_estates_work(empty_database: str, rows: int) -> None:
    """However few the births, they are all there and the rest is consistent."""
    with connect(empty_database) as connection:
        build(connection, rows=rows)
        assert count(connection, "birth_registry") == rows
        members = "collection_name IN (SELECT registry_collection FROM meta_catalog)"
        assert count(connection, "birth_registry", members) <= rows / 5
        connection.execute(
            """INSERT INTO birth_registry (collection_name, entity_code, born_at, governance_role, status)
               VALUES ('customer_records', 'X', now(), 'leaf', 'born')"""
        )
        assert one(connection, "SELECT max(id) FROM birth_registry") == (rows + 1,)


def test_the_same_rows_and_seed_give_the_same_contents(bed: Bed) -> None:
    """Two builds are equal, whatever the session's zone; another seed is another estate."""
    found = []
    for seed, zone in ((3, "UTC"), (3, "Asia/Kathmandu"), (4, "UTC")):
        with bed.database() as name, connect(bed.dsn(name)) as connection:
            connection.execute("SELECT set_config('TimeZone', %s, false)", (zone,))
            build(connection, rows=2_000, seed=seed)
            connection.execute("SET TimeZone = 'UTC'")
            found.append(fingerprint(connection))
    assert found[0] == found[1]
    assert found[0]["birth_registry"] != found[2]["birth_registry"]
    assert found[0]["event_outbox"] != found[2]["event_outbox"]


def test_a_database_with_one_of_the_tables_is_refused(empty_database: str) -> None:
    """The table is named, and nothing is added."""
    with connect(empty_database) as connection:
        connection.execute("CREATE TABLE dot_config (key text)")
        before = relations(connection)
        with pytest.raises(Refused, match="dot_config") as refusal:
            build(connection, rows=50)
        assert refusal.value.exit_code == 3
        assert relations(connection) == before


@pytest.mark.parametrize(("rows", "seed"), [(0, 1), (-1, 1), (2_000_000_001, 1), (10, 2**63), (10, -(2**63) - 1)])
def test_impossible_numbers_are_refused(empty_database: str, rows: int, seed: int) -> None:
    """Before anything is sent to the server."""
    with connect(empty_database) as connection, pytest.raises(Usage):
        build(connection, rows=rows, seed=seed)


@pytest.mark.parametrize("table", ["birth_registry", "event_read", "indexes", "finish"])
def test_an_interrupted_build_leaves_nothing(empty_database: str, table: str) -> None:
    """Ctrl-C after any chunk: the catalog is as before, and the next build succeeds."""

    def interrupt(label: str, done: int, total: int) -> None:
        assert 0 < done <= total
        if label == table:
            raise KeyboardInterrupt

    with connect(empty_database) as connection:
        before = relations(connection)
        with pytest.raises(KeyboardInterrupt):
            build(connection, rows=2_000, progress=interrupt)
        assert relations(connection) == before
        build(connection, rows=50)


@pytest.mark.parametrize("function", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_build_that_the_server_ends_leaves_nothing(empty_database: str, function: str) -> None:
    """Cancelled or killed from outside: one sentence, and an empty catalog."""
    with connect(empty_database) as other, closing(connect(empty_database)) as connection:
        before = relations(other)
        pid = connection.info.backend_pid

        def strike() -> bool:
            struck = f"SELECT {function}(pid) FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep'"
            return other.execute(struck).fetchone() is not None

        def end(label: str, done: int, total: int) -> None:
            del done, total
            if label == "event_outbox":
                threading.Thread(target=eventually, args=(strike,), kwargs={"what": "the build at work"}).start()
                connection.execute("SELECT pg_sleep(60)")

        with pytest.raises(OneroofError, match="building the estate"):
            build(connection, rows=2_000, progress=end)
        eventually(lambda: relations(other) == before, what="the catalog as before")


def test_two_builds_in_one_database_do_not_mix(empty_database: str) -> None:
    """The second is told at once that another is under way."""
    with connect(empty_database) as first, connect(empty_database) as second:
        seen: list[type[OneroofError]] = []

        def intrude(label: str, done: int, total: int) -> None:
            del label, done, total
            if not seen:
                with pytest.raises(HeldElsewhere) as refusal:
                    build(second, rows=50)
                seen.append(refusal.type)

        build(first, rows=200, progress=intrude)
        assert seen == [HeldElsewhere]


def test_an_encoding_that_cannot_hold_the_seeds_words_is_refused(bed: Bed) -> None:
    """A LATIN1 database is refused in one sentence before any work."""
    name = f"latin_{threading.get_native_id()}"
    with connect(bed.dsn("postgres")) as admin:
        admin.execute(
            sql.SQL("CREATE DATABASE {} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0").format(sql.Identifier(name))
        )
        try:
            with connect(bed.dsn(name)) as connection, pytest.raises(Refused, match="LATIN1"):
                build(connection, rows=50)
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.mark.slow
def test_an_owner_with_createrole_builds_and_racing_builders_share_the_logins(lone_bed: Bed) -> None:
    """As on a managed server; three databases at once do not collide over the cluster-wide logins."""
    with connect(lone_bed.dsn("postgres")) as admin:
        admin.execute("CREATE ROLE keeper LOGIN CREATEROLE")
        for name in ("one", "two", "three"):
            admin.execute(sql.SQL("CREATE DATABASE {} OWNER keeper").format(sql.Identifier(name)))
        together = threading.Barrier(3)

        def race(name: str) -> None:
            waited: list[str] = []

            def meet(label: str, done: int, total: int) -> None:
                del done, total
                if label == "finish" and not waited:
                    waited.append(label)
                    together.wait(60)

            with connect(as_user(lone_bed.dsn(name), "keeper")) as connection:
                build(connection, rows=300, progress=meet)

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(race, ("one", "two", "three")))
        roles = admin.execute(
            """SELECT rolname::text, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb FROM pg_roles
               WHERE rolname = ANY (%s)""",
            (list(LOGINS),),
        ).fetchall()
        assert sorted(roles) == sorted((login, True, False, False, False) for login in LOGINS)


def _no_createrole(admin: Connection) -> None:
    admin.execute("ALTER ROLE keeper NOCREATEROLE")


def _superuser_viewer(admin: Connection) -> None:
    admin.execute("CREATE ROLE viewer LOGIN SUPERUSER")


def _viewer_without_login(admin: Connection) -> None:
    admin.execute("CREATE ROLE viewer NOLOGIN")


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [_no_createrole, _superuser_viewer, _viewer_without_login])
def test_logins_that_cannot_be_are_refused_before_any_work(lone_bed: Bed, spoil: Callable[[Connection], None]) -> None:
    """No right to create them, or a role of that name that cannot stand for a person: said first."""
    with connect(lone_bed.dsn("postgres")) as admin:
        admin.execute("CREATE ROLE keeper LOGIN CREATEROLE")
        admin.execute("CREATE DATABASE one OWNER keeper")
        spoil(admin)
        seen: list[str] = []
        with (
            connect(as_user(lone_bed.dsn("one"), "keeper")) as connection,
            pytest.raises(Refused, match="viewer"),
        ):
            build(connection, rows=300, progress=lambda label, _done, _total: seen.append(label))
        assert seen == []
