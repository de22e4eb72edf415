"""Ways round four eyes and round the search path that were found to be open once, each closed for good."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from bed import SETTINGS, Bed, as_user, command, connect, eventually
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import OneroofError, Refused, Usage
from oneroof.host import channel_export
from oneroof.install import doctor, migrate
from oneroof.people import directory, gates, requests

GATE = "governance.workers_enabled"


class Logins:
    """A connection per login, made when it is first asked for."""

    def __init__(self, dsn: str, stack: ExitStack) -> None:
        self.dsn, self._stack = dsn, stack

    def __getitem__(self, user: str) -> Connection:
        return self._stack.enter_context(connect(as_user(self.dsn, user)))

    def is_open(self) -> bool:
        return next(gate.is_open for gate in gates.listing(self["postgres"]) if gate.gate_key == GATE)


@pytest.fixture
def logins(installed_database: str) -> Iterator[Logins]:
    with ExitStack() as stack:
        yield Logins(installed_database, stack)


@pytest.mark.slow
@pytest.mark.parametrize(
    "signature",
    [
        "gov_require_person(text)",
        "gov_require_person(VARIADIC anyarray)",
        "gov_refuse(text)",
        "gov_refuse(text, anyelement)",
        "gov_audit_note(text, text, name)",
        "gov_audit_note(text, text, varchar)",
        "gov_request_digest(text, text, jsonb, text, name)",
        "gov_request_check(text, text, anyelement)",
        "gov_person_memberships()",
        "gov_request_decide(smallint, text, text)",
        "gov_request_decide(bigint, text)",
        "gov_request_open(text, text, jsonb, varchar)",
        "gov_gate_is_open(varchar)",
    ],
)
def test_a_planted_overload_is_never_called(logins: Logins, signature: str) -> None:
    """A superuser plants a near namesake in our schema: no request, decision or close ever runs it."""
    admin = logins["postgres"]
    result = "anyelement" if "anyelement" in signature else "text"
    body = "BEGIN RAISE EXCEPTION 'hijacked'; END"
    admin.execute(
        f"CREATE FUNCTION oneroof.{signature} RETURNS {result} LANGUAGE plpgsql AS '{body.replace(chr(39), chr(39) * 2)}'"
    )
    requester, approver = logins["requester"], logins["approver"]
    number = gates.request(requester, GATE, reason="real")
    with pytest.raises(Refused, match="cannot also approve"):
        requests.decide(requester, number, "approved")
    requests.decide(approver, number, "approved")
    change = directory.change(requester, "viewer", {"action": "grant", "roles": ["reader"]}, reason="x")
    assert change is not None
    requests.decide(approver, change, "rejected")
    assert gates.close(logins["viewer"], GATE) is True
    assert not doctor.examine(admin).well
    with pytest.raises(Refused, match="functions of other roles are in the schema oneroof"):
        migrate.upgrade(admin, settings=SETTINGS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "planted",
    [
        "FUNCTION public.format_type(oid, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''hijacked''; END'",
        "FUNCTION public.shobj_description(oid, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''hijacked''; END'",
        "FUNCTION public.has_schema_privilege(text, varchar) RETURNS bool LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''hijacked''; END'",
        "FUNCTION public.always(text[], text[]) RETURNS bool LANGUAGE sql AS 'SELECT true';"
        "CREATE OPERATOR public.= (LEFTARG = text[], RIGHTARG = text[], FUNCTION = public.always)",
    ],
)
def test_what_is_planted_in_public_is_not_taken_for_postgresqls_own(estate_database: str, planted: str) -> None:
    """Neither doctor, as a superuser, nor install ever calls it, and no view binds it."""
    with connect(estate_database) as admin:
        admin.execute(f"CREATE {planted}")
        assert doctor.examine(admin).well
        migrate.install(admin, settings=SETTINGS)
        assert [gate.is_open for gate in gates.listing(admin)] == [False] * 6
        bound = "SELECT pg_get_viewdef('oneroof.v_gate_state'::regclass) LIKE '%%public.=%%'"
        assert one(admin, bound) == (False,)


@pytest.mark.slow
def test_what_is_planted_in_public_under_our_names_is_never_met(installed_database: str, logins: Logins) -> None:
    """A role that may create in public makes a table of every name and a function of every signature of ours, operators
    that say yes to everything, and public comes first in everybody's search path: a whole run meets none of them.
    """
    admin = logins["postgres"]
    ours = "pronamespace = 'oneroof'::regnamespace"
    functions = f"SELECT proname, array_to_string(proargtypes::oid[]::regtype[], ', ') FROM pg_proc WHERE {ours}"
    relations = (
        "SELECT relname FROM pg_class WHERE relnamespace = 'oneroof'::regnamespace AND relkind IN ('r', 'v', 'S')"
    )
    admin.execute("DROP ROLE IF EXISTS mallory")
    admin.execute("CREATE ROLE mallory")
    try:
        admin.execute("GRANT CREATE ON SCHEMA public TO mallory")
        signatures = admin.execute(functions).fetchall()
        tables = admin.execute(relations).fetchall()
        with admin.transaction():
            admin.execute("SET LOCAL ROLE mallory")
            admin.execute("SET LOCAL check_function_bodies = off")
            for name, arguments in signatures:
                admin.execute(
                    f"CREATE FUNCTION public.{name}({arguments}) RETURNS text LANGUAGE plpgsql"
                    " AS 'BEGIN RAISE EXCEPTION ''hijacked''; END'"
                )
            for (name,) in tables:
                admin.execute(f"CREATE TABLE public.{name} (hijacked int)")
            for left, right in (("text", "text"), ("name", "text"), ("text[]", "text[]"), ("bigint", "bigint")):
                admin.execute(
                    f"CREATE FUNCTION public.always({left}, {right}) RETURNS bool LANGUAGE plpgsql"
                    " AS 'BEGIN RAISE EXCEPTION ''hijacked''; END'"
                )
                admin.execute(
                    f"CREATE OPERATOR public.= (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = public.always)"
                )
        database = admin.info.dbname
        admin.execute(f"ALTER DATABASE {database} SET search_path = public, pg_catalog")
        assert doctor.examine(logins["viewer"]).checks
        number = gates.request(logins["requester"], GATE, reason="real")
        requests.decide(logins["approver"], number, "approved")
        for words in (
            ("upgrade",),
            ("run", "--until-idle"),
            ("status",),
            ("doctor",),
            ("prove",),
            ("uninstall", "--yes"),
        ):
            done = command(*words, dsn=installed_database)
            assert (done.code, "hijacked" in done.err) == (0, False), (words, done.out, done.err)
        (left_alone,) = one(
            admin, "SELECT count(*) FROM pg_catalog.pg_class AS c WHERE c.relowner::regrole::text LIKE 'mallory'"
        )
        assert left_alone >= len(tables)
    finally:
        admin.execute("DROP OWNED BY mallory")
        admin.execute("DROP ROLE mallory")


def test_a_schema_of_our_name_that_is_not_ours_is_refused(estate_database: str) -> None:
    """Its owner could plant what we call: nothing is installed into it, and nothing of it is taken over."""
    with connect(estate_database) as admin:
        admin.execute("CREATE SCHEMA oneroof AUTHORIZATION viewer")
        with pytest.raises(
            Refused, match="the schema oneroof exists and was not made by oneroof: it belongs to viewer"
        ):
            migrate.install(admin, settings=SETTINGS)
        assert one(admin, "SELECT count(*) FROM pg_class WHERE relnamespace = 'oneroof'::regnamespace") == (0,)


def test_an_edit_in_flight_is_waited_for_and_voids(logins: Logins) -> None:
    """The approval does not overtake an edit that has not committed yet."""
    number = gates.request(logins["requester"], GATE, reason="real")
    host, approver, watcher = logins["postgres"], logins["approver"], logins["postgres"]
    outcomes: list[str] = []

    def approve() -> None:
        try:
            requests.decide(approver, number, "approved")
        except Refused as refused:
            outcomes.append(str(refused))

    with host.transaction():
        host.execute("UPDATE approval_requests SET reason = 'edited' WHERE id = %s", (number,))
        thread = threading.Thread(target=approve)
        thread.start()
        waiting = "SELECT FROM pg_locks WHERE NOT granted AND pid = %s"
        eventually(
            lambda: watcher.execute(waiting, (approver.info.backend_pid,)).fetchone() is not None, what="it to wait"
        )
    thread.join()
    assert "was edited" in outcomes[0]
    assert not logins.is_open()


def test_the_hosts_own_rejection_counts(logins: Logins) -> None:
    """A request that the host decided in its own table cannot be approved any more."""
    number = gates.request(logins["requester"], GATE, reason="real")
    logins["postgres"].execute("UPDATE approval_requests SET status = 'rejected' WHERE id = %s", (number,))
    with pytest.raises(Refused, match="void"):
        requests.decide(logins["approver"], number, "approved")


def test_a_login_made_anew_is_not_the_person_it_was(lone_bed: Bed) -> None:
    """People are bound to the role and not to its name: dropping, re-creating and renaming logins gains nothing."""
    with lone_bed.database(lone_bed.installed()) as name, connect(lone_bed.dsn(name)) as admin:
        asking = connect(lone_bed.dsn(name, user="requester"))
        number = gates.request(asking, GATE, reason="real")
        admin.execute("ALTER ROLE approver RENAME TO approver_old")
        admin.execute("ALTER ROLE requester_alt RENAME TO approver")
        with (
            connect(lone_bed.dsn(name, user="approver")) as imposter,
            pytest.raises(Refused, match="no registered person"),
        ):
            requests.decide(imposter, number, "approved")
        admin.execute("ALTER ROLE approver RENAME TO requester_alt")
        for role in ("oneroof_operator", "oneroof_approver"):
            admin.execute(f"REVOKE {role} FROM approver_old")
        admin.execute("DROP ROLE approver_old")
        admin.execute("CREATE ROLE approver LOGIN")
        migrate.upgrade(admin, settings=SETTINGS)
        assert one(admin, "SELECT pg_has_role('approver', 'oneroof_approver', 'MEMBER')") == (False,)
        with connect(lone_bed.dsn(name, user="approver")) as imposter, pytest.raises(Refused):
            requests.decide(imposter, number, "approved")
        asking.close()


def test_a_removed_person_cannot_act_in_an_old_snapshot(logins: Logins) -> None:
    """A transaction that began before the removal sees the removal, or fails."""
    requester, approver, viewer = logins["requester"], logins["approver"], logins["viewer"]
    grant = directory.change(requester, "viewer", {"action": "grant", "roles": ["approver"]}, reason="x")
    assert grant is not None
    requests.decide(approver, grant, "approved")
    number = gates.request(requester, GATE, reason="real")
    removal = directory.change(requester, "viewer", {"action": "remove"}, reason="x")
    assert removal is not None
    viewer.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    viewer.execute("SELECT count(*) FROM oneroof.v_person")
    requests.decide(approver, removal, "approved")
    with pytest.raises(psycopg.Error):
        viewer.execute("SELECT oneroof.gov_request_decide(%s::bigint, 'approved', NULL)", (number,))
    viewer.execute("ROLLBACK")
    assert not logins.is_open()


@pytest.mark.parametrize("content", [{"value": "false"}, {}, {"value": "true", "more": 1}])
def test_a_gate_is_asked_for_with_true_and_nothing_else(logins: Logins, content: dict[str, object]) -> None:
    """What is approved says what it does."""
    with pytest.raises(Refused, match="value true"):
        requests.request(logins["requester"], kind="gate.open", subject=GATE, content=content, reason="x")


def test_a_removed_persons_request_is_not_approved(logins: Logins) -> None:
    """Whoever asked must still be somebody."""
    number = gates.request(logins["viewer"], GATE, reason="real")
    removal = directory.change(logins["requester"], "viewer", {"action": "remove"}, reason="x")
    assert removal is not None
    requests.decide(logins["approver"], removal, "approved")
    with pytest.raises(Refused, match="no longer a person"):
        requests.decide(logins["approver"], number, "approved")


def test_a_host_that_changes_what_is_written_is_told(logins: Logins) -> None:
    """A trigger that rewrites dot_config keeps the gate closed, and the approval says so; doctor names the trigger."""
    admin = logins["postgres"]
    admin.execute(
        "CREATE FUNCTION host_upper() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN NEW.value := upper(NEW.value); RETURN NEW; END'"
    )
    admin.execute(
        "CREATE TRIGGER host_upper BEFORE INSERT OR UPDATE ON dot_config FOR EACH ROW EXECUTE FUNCTION host_upper()"
    )
    number = gates.request(logins["requester"], GATE, reason="real")
    with pytest.raises(Refused, match="stays closed"):
        requests.decide(logins["approver"], number, "approved")
    assert any("host_upper" in check.detail for check in doctor.examine(admin).checks)


def test_an_installer_does_not_have_the_owners_rights_in_passing(lone_bed: Bed) -> None:
    """On 16 and newer a database owner who installed cannot write the tables of four eyes without becoming the owner."""
    with connect(lone_bed.dsn("postgres")) as admin:
        admin.execute("CREATE ROLE host_owner LOGIN CREATEROLE")
        admin.execute("CREATE DATABASE managed OWNER host_owner")
    from oneroof.estate.build import build

    with connect(lone_bed.dsn("managed", user="host_owner")) as owner:
        build(owner, rows=100)
        migrate.install(owner, settings=SETTINGS)
        if lone_bed.major >= 16:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                owner.execute("UPDATE oneroof.governance_person SET roles = '{approver}'")


def test_an_export_never_touches_what_is_there(installed_database: str, tmp_path: Path) -> None:
    """Not a file, not a device, not a folder, not a file beside it; and no name is no name."""
    kept = tmp_path / "kept.jsonl"
    kept.write_text("precious")
    beside = tmp_path / "kept.jsonl.part"
    beside.write_text("precious")
    device = Path("/dev/null")
    with connect(installed_database) as connection:
        for path in (kept, device, tmp_path, Path(), tmp_path / ("x" * 300), tmp_path / "no" / "folder"):
            with pytest.raises(Usage):
                channel_export.export(connection, path)
    assert (kept.read_text(), beside.read_text()) == ("precious", "precious")
    assert device.is_char_device()


@pytest.mark.parametrize(
    ("change", "guarantee"),
    [
        ("ALTER TABLE birth_registry ENABLE ROW LEVEL SECURITY", "reconciled"),
        ("CREATE TABLE child () INHERITS (birth_registry)", "reconciled"),
        ("ALTER TABLE birth_registry SET UNLOGGED", "reconciled"),
    ],
)
def test_doctor_does_not_say_exact_where_it_is_not(installed_database: str, change: str, guarantee: str) -> None:
    """Judged for the worker's role, although a superuser asks."""
    with connect(installed_database) as admin:
        admin.execute(change)
        found = {g.source: g.guarantee for g in doctor.examine(admin).guarantees}
    assert found["birth_registry"] == guarantee


@pytest.mark.parametrize(
    "index", ["USING brin (born_at, id)", "(born_at DESC, id)", "(born_at) INCLUDE (id)", "(id, born_at)"]
)
def test_doctor_knows_which_index_a_keyset_can_use(installed_database: str, index: str) -> None:
    """A btree whose first columns are the keyset's, all in one direction."""
    with connect(installed_database) as admin:
        admin.execute("DROP INDEX birth_registry_born_at_id")
        admin.execute(f"CREATE INDEX ON birth_registry {index}")
        found = {g.source: g.index for g in doctor.examine(admin).guarantees}
    assert found["birth_registry"] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:sec%ZZgeheim@127.0.0.1/x",
        "postgresql://u:ge geheim@h/d",
        "host=h port=1 passwordgeheim",
        "host=h password=a\\ geheim",
    ],
)
def test_an_unreadable_dsn_is_not_repeated(dsn: str) -> None:
    """Neither by an error nor by `config show`."""
    for words in (["doctor"], ["config", "show"]):
        ran = command(*words, "--dsn", dsn)
        assert "geheim" not in ran.out + ran.err


@pytest.mark.slow
@pytest.mark.newest
def test_bad_words_are_wrong_usage(installed_database: str) -> None:
    """Bytes that are no text, numbers that are no ids, rates without end: a sentence and exit 2."""
    for words in (
        ["gate", "request", "\udcff", "--reason", "x"],
        ["gate", "request", GATE, "--reason", "\udcff"],
        ["approvals", "approve", "99999999999999999999"],
        ["estate", "live", "--rate", "1e308"],
        ["--dsn", "", "doctor"],
    ):
        ran = command(*words, dsn=as_user(installed_database, "requester"))
        assert ran.code == 2, (words, ran)


def test_a_client_in_another_encoding_is_understood(lone_bed: Bed) -> None:
    """The connection speaks UTF-8 whatever the environment says."""
    with lone_bed.database(lone_bed.estate()) as name:
        assert command("install", dsn=lone_bed.dsn(name), env={"PGCLIENTENCODING": "LATIN1"}).code == 0


@pytest.mark.slow
def test_an_approver_who_does_not_exist_stops_the_install_before_it_begins(estate_database: str) -> None:
    """Nothing is installed, and it says so."""
    ran = command("install", "--approver", "nobody_at_all", dsn=estate_database)
    assert ran.code == 3
    with connect(estate_database) as connection:
        assert one(connection, "SELECT to_regclass('oneroof.governance_migration')") == (None,)


def test_what_the_host_built_on_ours_is_named(installed_database: str) -> None:
    """A view of the host's on one of ours stops uninstall and upgrade, by name."""
    with connect(installed_database) as admin:
        admin.execute("CREATE VIEW host_view AS SELECT * FROM oneroof.v_gate_state")
        for act in (migrate.uninstall, migrate.upgrade):
            with pytest.raises(OneroofError, match="host_view"):
                act(admin, settings=SETTINGS)
