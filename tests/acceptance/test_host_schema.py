"""The host's tables lie in a schema of the host's own, and ours in a schema of ours."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
from psycopg import sql

from bed import SETTINGS, Bed, as_user, command, connect
from logins import sign_in
from oneroof.database.statements import one
from oneroof.host import expected_tables
from oneroof.install import migrate, script

CORE = "Core-data"
SET = {"ONEROOF_HOST_SCHEMA": CORE}
WORKERS = "governance.workers_enabled"
COUNTED = "SELECT count(*) FROM oneroof.governance_candidate_state"


@pytest.fixture
def core_database(lone_bed: Bed) -> Iterator[str]:
    """An estate in a schema whose name has to be quoted, which nobody may use unasked, and no schema public at all."""
    with lone_bed.database(lone_bed.estate()) as name:
        dsn = lone_bed.dsn(name)
        with connect(dsn) as admin:
            admin.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(CORE)))
            tables = (
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v')"
            )
            for (table,) in admin.execute(tables).fetchall():
                admin.execute(
                    sql.SQL("ALTER TABLE public.{} SET SCHEMA {}").format(sql.Identifier(table), sql.Identifier(CORE))
                )
            admin.execute("DROP SCHEMA public")
        yield dsn


def test_a_host_in_a_schema_of_its_own_is_followed_and_proven(core_database: str) -> None:
    """Installed, run until idle, signals emitted, examined and proven; a source of that schema has a bare name."""
    dsn = core_database
    installed = command("install", "--host-schema", CORE, dsn=dsn)
    assert (installed.code, f"ONEROOF_HOST_SCHEMA={CORE}" in installed.err) == (0, True), installed.err
    with sign_in(dsn) as logins:
        logins.open_gate(WORKERS)
        assert command("events", "activate", "governance.handoff.*", "--reason", "x", dsn=dsn, env=SET).code in (0, 3)
        logins.admin.execute(f'CREATE TABLE "{CORE}".things (id int PRIMARY KEY, at timestamptz DEFAULT now())')
        added = command("source", "add", "things", "--key", "id", "--timestamp", "at", "--json", dsn=dsn, env=SET)
        assert (added.code, added.json["source_name"]) == (0, "things"), added.err
        ran = command("run", "--until-idle", dsn=dsn, env=SET)
        assert ran.code == 0, ran.err
        assert one(logins.admin, COUNTED) >= (1_990,)
        for words in (("prove",), ("doctor",), ("status",), ("source", "add", "--catalog", "--json")):
            done = command(*words, dsn=dsn, env=SET)
            assert done.code == 0, (words, done.out, done.err)
    left = command("uninstall", "--yes", "--json", dsn=dsn, env=SET)
    assert (left.code, left.json["remaining"].keys() >= {"approval_requests", "dot_config"}) == (0, True), left.err
    with connect(dsn) as admin:
        assert one(admin, "SELECT count(*) FROM pg_namespace WHERE nspname IN ('oneroof', 'public')") == (0,)


def test_a_process_that_is_set_to_another_schema_is_told(core_database: str) -> None:
    """By every command, by doctor, by install and by uninstall; upgrade follows a host that has moved its tables."""
    dsn = core_database
    assert command("install", dsn=dsn, env=SET).code == 0
    for words in (("status",), ("run", "--once"), ("install",), ("uninstall", "--yes")):
        told = command(*words, dsn=dsn)
        assert (told.code, "ONEROOF_HOST_SCHEMA=Core-data" in told.err) == (4, True), (words, told.err)
    assert "lie in the schema Core-data" in command("doctor", "--json", dsn=dsn).out
    wrong = command("upgrade", dsn=dsn)
    assert (wrong.code, "birth_registry" in wrong.err) == (4, True), wrong.err
    with connect(dsn) as admin:
        admin.execute(f'ALTER SCHEMA "{CORE}" RENAME TO moved')
    moved = {"ONEROOF_HOST_SCHEMA": "moved"}
    assert command("upgrade", dsn=dsn, env=moved).code == 0
    for words in (("status",), ("doctor",)):
        assert command(*words, dsn=dsn, env=moved).code == 0


@pytest.mark.parametrize("name", ["oneroof", "pg_catalog", "information_schema", "a'b", 'a"b', "a{b", "a%b", ""])
def test_a_name_that_is_no_schema_of_a_host_is_refused(name: str) -> None:
    """Before anything is printed or asked."""
    refused = command("install", "--print", "--host-schema", name)
    assert (refused.code, "host_schema" in refused.err) == (2, True), refused.err


def test_the_printed_script_names_the_hosts_schema_and_needs_no_server() -> None:
    """Twice the same, and of the host's tables in our SQL every one is demanded by an installation."""
    printed = [command("install", "--print", "--host-schema", "core", dsn="host=nowhere").out for _ in range(2)]
    assert printed[0] == printed[1]
    assert printed[0] == script.print_install(SETTINGS.model_copy(update={"host_schema": "core"}))
    assert not re.search(r"\bpublic\.(?!estate)|'public'", printed[0])
    named = set(re.findall(r'"core"\.(\w+)', printed[0]))
    assert named == {table.name for table in expected_tables.tables()} | {"estate_build"}


def dumped(bed: Bed, dsn: str, *words: str) -> str:
    pg_dump = bed.server.binaries.folder / "pg_dump"
    done = subprocess.run([pg_dump, *words, dsn], capture_output=True, text=True, check=True)
    # The newest versions put a word of their own around each dump, another one every time.
    return re.sub(r"^\\(un)?restrict .*$", "", done.stdout, flags=re.MULTILINE)


def entries(dump: str) -> list[str]:
    dump = dump.replace("--\n-- PostgreSQL database dump complete\n--\n", "")
    return sorted(part.strip() for part in re.split(r"^--\n(?=-- (?:Name|Data for Name): )", dump, flags=re.MULTILINE))


def test_the_hosts_schema_is_the_same_before_and_after(lone_bed: Bed) -> None:
    """`pg_dump -n public`, with all rows: the same entries, byte for byte; a table that a view of ours reads may come
    earlier. What was granted is SELECT on what is demanded, and what our functions need to write the channels.
    """
    with lone_bed.database(lone_bed.estate()) as name, connect(lone_bed.dsn(name)) as admin:
        dsn = lone_bed.dsn(name)
        # On an estate an installation registers its people, and the channel for audits hears of them.
        admin.execute("DROP TABLE estate_build")
        before, with_grants = dumped(lone_bed, dsn, "-n", "public", "-x"), dumped(lone_bed, dsn, "-n", "public")
        migrate.install(admin, settings=SETTINGS)
        assert entries(dumped(lone_bed, dsn, "-n", "public", "-x")) == entries(before)
        added = set(dumped(lone_bed, dsn, "-n", "public").splitlines()) - set(with_grants.splitlines())
        granted = [line for line in added if line.startswith("GRANT ")]
        assert added - set(granted) <= {line for line in added if line.startswith("-- Name: ")}
        to_readers = {line for line in granted if not line.endswith(" TO oneroof_owner;")}
        demanded = [table.name for table in expected_tables.tables()]
        readers = ("oneroof_reader", "oneroof_worker")
        assert to_readers == {
            *(f"GRANT SELECT ON TABLE public.{table} TO {role};" for table in demanded for role in readers),
            *(f"GRANT USAGE ON SCHEMA public TO {role};" for role in readers),
        }
        written = {
            (found[1], table[1])
            for line in granted
            if line.endswith(" TO oneroof_owner;") and (table := re.search(r" ON (?:TABLE )?public\.(\w+) ", line))
            for found in re.finditer(r"\b(INSERT|UPDATE|DELETE|TRUNCATE|REFERENCES|TRIGGER)\b", line)
        }
        channels = {table.name for table in expected_tables.tables() if table.kind == "channel"}
        assert {table for _, table in written} == channels
        assert {privilege for privilege, _ in written} == {"INSERT", "UPDATE"}
        migrate.uninstall(admin, settings=SETTINGS)
        assert dumped(lone_bed, dsn, "-n", "public") == with_grants
        assert dumped(lone_bed, dsn, "-n", "public", "-x") == before


def test_nobody_but_the_owner_makes_anything_in_our_schema(installed_database: str) -> None:
    """Neither our roles nor a login of the host may create there, and what a stranger may see is nothing."""
    with connect(installed_database) as admin:
        makers = (
            "SELECT rolname FROM pg_roles WHERE has_schema_privilege(rolname, 'oneroof', 'CREATE') AND NOT rolsuper"
        )
        assert [str(row[0]) for row in admin.execute(makers)] == ["oneroof_owner"]
        assert one(admin, "SELECT has_schema_privilege('public', 'oneroof', 'USAGE')") == (False,)
    with connect(as_user(installed_database, "viewer")) as viewer:
        assert one(viewer, "SELECT count(*) >= 0 FROM oneroof.v_person") == (True,)


def test_what_is_demanded_is_enough(lone_bed: Bed) -> None:
    """A host with all that is demanded and nothing beside: approvals, a backfill, change logs, verdicts,
    findings, signals sent and held, an inbox, an audit, a failed item and a proof.
    """
    with lone_bed.database() as name, connect(lone_bed.dsn(name)) as admin:
        dsn = lone_bed.dsn(name)
        for login in ("requester", "approver"):
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(login)))
        for table in expected_tables.tables():
            admin.execute(as_demanded(table))
        admin.execute(
            "INSERT INTO birth_registry (id, collection_name, entity_code, canonical_address, status, born_at)"
            " SELECT n, 'things', 'T' || n, 'things:' || n, 'born', now() FROM generate_series(1, 200) AS n"
        )
        admin.execute("INSERT INTO collection_registry (code, collection_name) VALUES ('COL-1', 'things')")
        admin.execute("INSERT INTO meta_catalog VALUES ('things', 'birth_registry')")
        installed = command("install", "--approver", "requester", "--approver", "approver", dsn=dsn)
        assert installed.code == 0, installed.err
        with sign_in(dsn) as logins:
            logins.open_gate(WORKERS)
            logins.activate("governance.handoff.object_born")
            asking = as_user(dsn, "requester")
            subscribed = command("inbox", "subscribe", "requester", dsn=asking)
            assert subscribed.code == 0, subscribed.err
            assert command("run", "--until-idle", dsn=dsn).code == 0
            admin.execute(
                "INSERT INTO birth_registry (id, collection_name, entity_code, canonical_address, status, born_at)"
                " SELECT n, 'things', 'T' || n, 'things:' || n, 'born', now() FROM generate_series(201, 220) AS n"
            )
            admin.execute(
                "INSERT INTO birth_registry (id, canonical_address, status) VALUES (221, repeat('x', 9000), 'born')"
            )
            admin.execute(
                "INSERT INTO registry_changelog (entity_type, entity_code, action, timestamp)"
                " VALUES ('things', 'T1', 'retire', now() AT TIME ZONE 'UTC')"
            )
            for words in (
                ("run", "--until-idle"),
                ("run", "gov_periodic_full_audit", "--once"),
                ("run", "--until-idle"),
            ):
                ran = command(*words, dsn=dsn)
                assert ran.code == 0, (words, ran.err)
            assert one(admin, "SELECT count(*) FROM oneroof.governance_candidate_state") == (220,)
            assert command("inbox", "read", "requester", "--all", dsn=asking).code == 0
            assert command("prove", dsn=dsn).code == 0
            assert command("status", dsn=dsn).code == 0
            examined = command("doctor", "--json", dsn=dsn).json
            assert [check for check in examined["checks"] if check["verdict"] == "fail"] == []
            channels = [table.name for table in expected_tables.tables() if table.kind == "channel"]
            assert [each for each in channels if one(admin, f"SELECT count(*) FROM {each}") == (0,)] == []
        left = command("uninstall", "--yes", dsn=dsn)
        assert left.code == 0, left.err


def as_demanded(table: expected_tables.Table) -> str:
    """A table with what is needed of it, and nothing else."""
    default = f" DEFAULT nextval('{table.name}_ids')"
    columns = [
        f'"{name}" {column.type}{" NOT NULL" if column.not_null else ""}{default if column.has_default else ""}'
        for name, column in table.columns.items()
    ]
    return f"CREATE SEQUENCE {table.name}_ids AS int; CREATE TABLE {table.name} ({', '.join(columns)})"
