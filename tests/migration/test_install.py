"""Install and uninstall: additive, reversible, all or nothing, and harmless in company."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from bed import SETTINGS, Bed, as_user, command, connect, eventually
from catalog import everything
from oneroof.database.host_schema import placed
from oneroof.errors import OneroofError, Refused, Unavailable, Wrong
from oneroof.estate.build import build
from oneroof.fence import lease
from oneroof.host import channel_export, expected_tables
from oneroof.install import migrate, script
from oneroof.people import directory, gates, requests

HOST = "host_owner"


def owned_database(bed: Bed, name: str) -> str:
    """A database as a managed server gives it: owned by a login that may create roles and is no superuser."""
    with connect(bed.dsn("postgres")) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEROLE").format(sql.Identifier(HOST)))
        admin.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(HOST)))
    return bed.dsn(name, user=HOST)


def all_at_once(*acts: Callable[[], object]) -> list[BaseException]:
    """Run acts in threads that start together; what they raised."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> None:
        start.wait()
        try:
            act()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def install_in(dsn: str) -> bool:
    with connect(dsn) as connection:
        return migrate.install(connection, settings=SETTINGS)


def uninstall_in(dsn: str) -> bool:
    with connect(dsn) as connection:
        return migrate.uninstall(connection, settings=SETTINGS)


def test_uninstall_leaves_the_catalog_as_it_was(lone_bed: Bed) -> None:
    """install then uninstall: every catalog entry, grant, role, membership and comment is as before."""
    with lone_bed.database(lone_bed.estate()) as name, connect(lone_bed.dsn(name)) as connection:
        before = everything(connection)
        assert migrate.install(connection, settings=SETTINGS)
        assert everything(connection) != before
        assert migrate.uninstall(connection, settings=SETTINGS)
        assert everything(connection) == before


def test_install_alters_nothing_of_the_substrate(lone_bed: Bed) -> None:
    """Promise 19: the substrate's catalog entries, grants aside, are the same before and after."""

    def substrate(lines: list[str]) -> list[str]:
        kinds = ("attribute", "constraint", "trigger", "index", "view", "comment", "type")
        return [line for line in lines if line.startswith(kinds) and "oneroof." not in line]

    with lone_bed.database(lone_bed.estate()) as name, connect(lone_bed.dsn(name)) as connection:
        before = substrate(everything(connection))
        migrate.install(connection, settings=SETTINGS)
        assert substrate(everything(connection)) == before


def test_install_twice_changes_nothing(installed_database: str) -> None:
    """Running install on a current schema is harmless and says so; upgrade applies everything anew."""
    with connect(installed_database) as connection:
        before = everything(connection)
        assert migrate.install(connection, settings=SETTINGS) is False
        assert migrate.upgrade(connection, settings=SETTINGS) is True
        assert everything(connection) == before


def test_a_database_owner_with_createrole_can_install_and_uninstall(lone_bed: Bed) -> None:
    """As on managed servers: no superuser at any point, and the catalog is as before at the end."""
    dsn = owned_database(lone_bed, "managed")
    with connect(dsn) as connection:
        build(connection, rows=200, seed=1)
        before = everything(connection)
        assert migrate.install(connection, settings=SETTINGS)
        assert [person.person_code for person in directory.listing(connection)] == ["approver", "requester", "viewer"]
        assert migrate.upgrade(connection, settings=SETTINGS)
        assert migrate.uninstall(connection, settings=SETTINGS)
        assert everything(connection) == before


def test_databases_share_the_roles_and_the_last_one_drops_them(lone_bed: Bed) -> None:
    """Two databases of a cluster: the first uninstall keeps the roles, the last one drops them."""
    roles = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'oneroof%'"
    template = lone_bed.estate()
    with (
        lone_bed.database(template) as first,
        lone_bed.database(template) as second,
        connect(lone_bed.dsn(first)) as one,
        connect(lone_bed.dsn(second)) as two,
    ):
        migrate.install(one, settings=SETTINGS)
        migrate.install(two, settings=SETTINGS)
        migrate.uninstall(one, settings=SETTINGS)
        assert one.execute(roles).fetchone() == (7,)
        migrate.require_current(two)
        migrate.uninstall(two, settings=SETTINGS)
        assert two.execute(roles).fetchone() == (0,)


def test_racing_installers_are_harmless(lone_bed: Bed) -> None:
    """Two installers in each of two databases at once, then as many uninstallers: one does the work, none fails."""
    template = lone_bed.estate()
    with lone_bed.database(template) as first, lone_bed.database(template) as second:
        dsns = [lone_bed.dsn(name) for name in (first, second) for _ in range(2)]
        for _ in range(2):
            assert all_at_once(*(lambda dsn=dsn: install_in(dsn) for dsn in dsns)) == []
            for dsn in dsns:
                with connect(dsn) as connection:
                    migrate.require_current(connection)
            assert all_at_once(*(lambda dsn=dsn: uninstall_in(dsn) for dsn in dsns)) == []
            with connect(dsns[0]) as connection:
                assert connection.execute("SELECT count(*) FROM pg_roles WHERE rolname LIKE 'oneroof%'").fetchone() == (
                    0,
                )


def test_an_installer_that_waited_sees_what_the_other_one_did(lone_bed: Bed) -> None:
    """An upgrade that had looked at the schema, and then waited while another session took it away, says so."""
    with lone_bed.database(lone_bed.installed()) as name:
        waiting, leaving = connect(lone_bed.dsn(name)), connect(lone_bed.dsn(name))
        with waiting, leaving:
            migrate.require_current(waiting)
            with leaving.transaction():
                leaving.execute("SELECT pg_advisory_xact_lock(hashtextextended('oneroof.schema', 0))")
                answers: list[bool] = []
                upgrade = threading.Thread(target=lambda: answers.append(migrate.upgrade(waiting, settings=SETTINGS)))
                upgrade.start()
                blocked = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                eventually(lambda: leaving.execute(blocked).fetchone() is not None, what="the upgrade to wait")
                migrate.uninstall(leaving, settings=SETTINGS)
            upgrade.join()
            assert answers == [False]


@pytest.mark.newest
def test_a_failing_install_leaves_nothing(lone_bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever step fails, neither objects nor roles nor grants remain."""
    with lone_bed.database(lone_bed.estate()) as name, connect(lone_bed.dsn(name)) as connection:
        before = everything(connection)
        steps = script.install_steps(script.migrations(), settings=SETTINGS)
        # One function is like another; every other step is like none.
        functions = [place for place, step in enumerate(steps) if step.name.startswith("function ")]
        for cut in sorted({*range(1, len(steps))}.difference(place for place in functions if place % 10)):
            broken = [*steps[:cut], script.Step("broken", "SELECT 1/0")]
            monkeypatch.setattr(script, "install_steps", lambda *_, broken=broken, **__: broken)
            with pytest.raises(Wrong, match="division by zero"):
                migrate.install(connection, settings=SETTINGS)
        assert everything(connection) == before


@pytest.mark.slow
def test_install_asks_of_the_hosts_tables_no_more_than_a_read(estate_database: str) -> None:
    """Sessions that write or hold tables against all writers do not hinder it; only DDL makes it give way."""
    quick = SETTINGS.model_copy(update={"lock_timeout": 0.05})
    with connect(estate_database) as host, connect(estate_database) as connection:
        with host.transaction():
            host.execute("LOCK TABLE dot_config IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(OneroofError, match="lock timeout"):
                migrate.install(connection, settings=quick)
        with host.transaction():
            host.execute("LOCK TABLE birth_registry, event_outbox, dot_config, job_queue IN EXCLUSIVE MODE")
            assert migrate.install(connection, settings=SETTINGS)


def test_uninstalling_one_database_leaves_the_people_of_another_alone(lone_bed: Bed) -> None:
    """Memberships belong to the cluster: the people of a database that stays keep theirs."""
    template = lone_bed.estate()
    with lone_bed.database(template) as first, lone_bed.database(template) as second:
        install_in(lone_bed.dsn(first))
        install_in(lone_bed.dsn(second))
        uninstall_in(lone_bed.dsn(first))
        with connect(lone_bed.dsn(second, user="requester")) as asking, connect(lone_bed.dsn(second)) as admin:
            assert [gate.is_open for gate in gates.listing(asking)] == [False] * 6
            assert all(person.memberships_missing == [] for person in directory.listing(admin))


def test_an_edited_migration_is_an_error(installed_database: str) -> None:
    """The ledger keeps each file's hash; a file that changed after it was applied stops everything."""
    with connect(installed_database) as connection:
        connection.execute("UPDATE oneroof.governance_migration SET sha256 = 'other' WHERE number = 1")
        with pytest.raises(Wrong, match="0001_install was edited"):
            migrate.require_current(connection)


def test_a_newer_database_is_refused(installed_database: str) -> None:
    """A schema with migrations that this package does not know asks for a newer package."""
    with connect(installed_database) as connection:
        connection.execute(
            "INSERT INTO oneroof.governance_migration (number, name, sha256) VALUES (9999, 'future', 'x')"
        )
        with pytest.raises(Unavailable, match="9999_future"):
            migrate.require_current(connection)


def test_an_outdated_schema_is_refused_and_upgraded(installed_database: str) -> None:
    """Other functions than this package ships: commands refuse, upgrade mends, a stray function of ours goes."""
    with connect(installed_database) as connection:
        connection.execute("UPDATE oneroof.governance_schema SET content_sha256 = 'older', version = '0.0.1'")
        connection.execute("CREATE FUNCTION oneroof.gov_stray() RETURNS int LANGUAGE sql AS 'SELECT 1'")
        connection.execute("ALTER FUNCTION oneroof.gov_stray() OWNER TO oneroof_owner")
        with pytest.raises(Unavailable, match=r"0\.0\.1") as refused:
            migrate.require_current(connection)
        assert refused.value.hint == "oneroof upgrade"
        migrate.upgrade(connection, settings=SETTINGS)
        migrate.require_current(connection)
        assert connection.execute("SELECT to_regprocedure('gov_stray()')").fetchone() == (None,)


def test_a_role_of_that_name_that_is_not_ours_is_refused(lone_bed: Bed) -> None:
    """A role called oneroof_worker that somebody else made is not taken over."""
    with lone_bed.database(lone_bed.estate()) as name, connect(lone_bed.dsn(name)) as connection:
        connection.execute("CREATE ROLE oneroof_worker SUPERUSER")
        with pytest.raises(Refused, match="oneroof_worker exists and was not made by oneroof"):
            migrate.install(connection, settings=SETTINGS)
        assert connection.execute("SELECT count(*) FROM pg_roles WHERE rolname LIKE 'oneroof%'").fetchone() == (1,)


def test_what_a_host_lacks_is_named_with_what_is_needed(estate_database: str) -> None:
    """A line for each table, column, type, NOT NULL and default, and for what the host demands of rows of ours; nothing
    is installed.
    """
    with connect(estate_database) as connection:
        connection.execute("DROP TABLE queue_heartbeat")
        connection.execute("ALTER TABLE dot_config ALTER COLUMN value TYPE varchar(10)")
        connection.execute("ALTER TABLE collection_registry DROP COLUMN id")
        connection.execute("ALTER TABLE approval_requests ALTER COLUMN id DROP DEFAULT")
        connection.execute("ALTER TABLE pivot_definitions DROP CONSTRAINT pivot_definitions_pkey")
        connection.execute("ALTER TABLE pivot_definitions ALTER COLUMN code DROP NOT NULL")
        connection.execute("ALTER TABLE registry_changelog DROP COLUMN source_system, ADD COLUMN why text")
        connection.execute("UPDATE registry_changelog SET why = 'x'")
        connection.execute("ALTER TABLE registry_changelog ALTER COLUMN why SET NOT NULL")
        with pytest.raises(expected_tables.Lacking, match="lacks 7 things") as refused:
            migrate.install(connection, settings=SETTINGS)
        found = [(lack.table, lack.column, lack.needed, lack.found) for lack in refused.value.lacks]
        assert found == [
            ("registry_changelog", "source_system", "text", "missing"),
            ("registry_changelog", "why", "NULL allowed, or a default", "text NOT NULL"),
            ("queue_heartbeat", None, "a table: liveness and lease of every worker", "missing"),
            ("approval_requests", "id", "integer NOT NULL DEFAULT", "integer NOT NULL"),
            ("dot_config", "value", "text", "character varying"),
            ("collection_registry", "id", "integer", "missing"),
            ("pivot_definitions", "code", "text NOT NULL", "text"),
        ]
        shown, document = command("install", dsn=estate_database), command("install", "--json", dsn=estate_database)
        assert (shown.code, document.code, len(document.json["lacking"])) == (4, 4, 7)
        lines = shown.err.splitlines()
        assert len(lines) == 10
        assert lines[1].split() == ["registry_changelog", "source_system", "text", "missing"]
        assert max(map(len, lines)) < 160
        assert document.json["lacking"][0] == {
            "table": "registry_changelog",
            "column": "source_system",
            "needed": "text",
            "found": "missing",
            "seed": "doc 39 §39.2",
        }
        assert connection.execute("SELECT to_regclass('oneroof.governance_migration')").fetchone() == (None,)


def test_every_function_body_is_valid(installed_database: str) -> None:
    """Installed with body checks off, so that order does not matter: applied again with the checks on."""
    with connect(installed_database) as connection, connection.transaction():
        connection.execute("SET LOCAL ROLE oneroof_owner")
        connection.execute("SET LOCAL check_function_bodies = on")
        for step in script.folder("functions"):
            body = step.sql[step.sql.index("CREATE OR REPLACE FUNCTION") :]
            connection.execute("RESET ROLE")
            connection.execute(placed(body, SETTINGS.host_schema))


def run_psql(bed: Bed, dsn: str, text: str) -> None:
    psql = bed.server.binaries.folder / "psql"
    done = subprocess.run([psql, "-X", "-q", dsn], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_printed_script_is_the_install(lone_bed: Bed) -> None:
    """`install --print | psql` gives the same catalog as `install`; the upgrade and uninstall scripts run too."""
    with lone_bed.database(lone_bed.estate()) as name, connect(lone_bed.dsn(name)) as connection:
        before = everything(connection)
        migrate.install(connection, settings=SETTINGS)
        installed = everything(connection)
        migrate.uninstall(connection, settings=SETTINGS)
        run_psql(lone_bed, lone_bed.dsn(name), script.print_install(SETTINGS))
        migrate.require_current(connection)
        assert everything(connection) == installed
        run_psql(lone_bed, lone_bed.dsn(name), script.print_upgrade(SETTINGS))
        assert everything(connection) == installed
        run_psql(lone_bed, lone_bed.dsn(name), script.print_uninstall(SETTINGS))
        assert everything(connection) == before


def test_uninstall_leaves_the_channels_in_order(installed_database: str) -> None:
    """No gate that we opened stays true, no request of ours pending, no lease held; the host's own are as they were."""
    with (
        connect(installed_database) as connection,
        connect(as_user(installed_database, "requester")) as asking,
        connect(as_user(installed_database, "approver")) as deciding,
    ):
        host = connection.execute("SELECT id, status FROM approval_requests ORDER BY id").fetchall()
        requests.decide(deciding, gates.request(asking, "governance.emit_enabled", reason="x"), "approved")
        pending = gates.request(asking, "governance.apply_enabled", reason="x")
        lease.claim(connection, "gov_backfill_sweep:birth_registry", instance="test")
        assert channel_export.remaining(connection)["queue_heartbeat"] == 1
        migrate.uninstall(connection, settings=SETTINGS)
        held = "SELECT lease_owner FROM queue_heartbeat WHERE executor_name LIKE 'gov_backfill%'"
        assert connection.execute(held).fetchall() == [(None,)]
        rows = connection.execute("SELECT value FROM dot_config WHERE key = 'governance.emit_enabled'").fetchall()
        assert rows == [("false",)]
        left: dict[int, str] = dict(connection.execute("SELECT id, status FROM approval_requests").fetchall())
        assert left[pending] == "void"
        assert [(number, left[number]) for number, _ in host] == host


@pytest.mark.slow
def test_uninstall_tells_and_exports_what_stays(installed_database: str, tmp_path: Path) -> None:
    """The rows of ours in shared channels are counted first, and exported whole with those of our own tables."""
    with psycopg.connect(as_user(installed_database, "requester"), autocommit=True) as asking:
        from oneroof.people import gates

        gates.request(asking, "governance.emit_enabled", reason="export me")
    refused = command("uninstall", dsn=installed_database)
    assert refused.code == 2
    assert "1 rows of ours stay in approval_requests" in refused.err
    file = tmp_path / "ours.jsonl"
    done = command("uninstall", "--yes", "--export", str(file), "--json", dsn=installed_database)
    assert done.code == 0, done.err
    lines = file.read_text().splitlines()
    assert done.json["remaining"]["approval_requests"] == 1
    assert done.json["exported"] == len(lines)
    assert any('"export me"' in line and '"approval_requests"' in line for line in lines)
    assert any('"governance_request"' in line for line in lines)
    assert command("uninstall", "--yes", "--json", dsn=installed_database).json == {"changed": False}
