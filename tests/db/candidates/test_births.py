"""Born or not: an object that only a registry of its class knows waits for its birth (doc 31 §7)."""

from __future__ import annotations

import pytest

import judging
from bed import as_user, command, connect, silent
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import Refused
from oneroof.people import owners
from oneroof.proof import prove
from oneroof.sources import registration, source
from oneroof.sources.source import Source

BORN, UNBORN = "dot_tools:DOT-0001", "dot_tools:DOT-0309"
STATE = """SELECT source_name, source_key, verdict, input_quality_state FROM oneroof.governance_candidate_state
WHERE candidate_key = %s"""
NOTES = "SELECT source_name, source_key, is_double FROM oneroof.governance_duplicate WHERE candidate_key = %s"
OWNED = b"level,subject,responsibility,owner,valid_from,valid_to\nscope,*,policy,GOV-COUNCIL,,\n"
BIRTH = """INSERT INTO birth_registry (collection_name, entity_code, species_code, governance_role, born_at)
VALUES ('dot_tools', 'DOT-0309', 'SPC-01', 'container', now()) RETURNING id::text"""


@pytest.fixture
def births(admin: Connection, installed_database: str) -> Source:
    with connect(as_user(installed_database, "requester")) as operator:
        owners.take(operator, OWNED, form="csv")
    return judging.births(admin)


@pytest.fixture
def tools(admin: Connection) -> Source:
    """A registry of one class, whose last objects were never born."""
    registration.add(admin, "dot_tools", key=["dot_code"], facts=["tier"], group_by=["status"])
    admin.execute("UPDATE oneroof.governance_source SET trusted_at = now() WHERE source_name = 'dot_tools'")
    return registration.find(admin, "dot_tools")


def follow(admin: Connection, *tailed: Source) -> None:
    """Whatever is new of them, and its verdicts."""
    for each in tailed:
        judging.sweep(admin, each)
        judging.intake(admin, each)
    judging.judge(admin, *tailed)


def never_born(admin: Connection) -> set[str]:
    asked = """SELECT 'dot_tools:' || t.dot_code FROM dot_tools AS t WHERE NOT EXISTS (
      SELECT FROM birth_registry AS b WHERE b.collection_name = 'dot_tools' AND b.entity_code = t.dot_code)"""
    return {key for (key,) in admin.execute(asked)}


def check(admin: Connection) -> None:
    """The verdicts are right, and the books of every source balance and are complete."""
    judging.check(admin)
    done = prove.prove(admin, deep=True, names=5, progress=silent)
    assert (done.is_balanced, done.is_complete) == (True, True), done


def test_an_object_that_was_never_born_is_deferred_without_a_finding(
    admin: Connection, births: Source, tools: Source
) -> None:
    """One that was born is its birth's, and that it is also in its registry is no fault of its input."""
    follow(admin, births, tools)
    unborn = admin.execute(
        "SELECT candidate_key, verdict, input_quality_state FROM oneroof.governance_candidate_state"
        " WHERE source_name = 'dot_tools'"
    ).fetchall()
    expected = never_born(admin)
    assert UNBORN in expected
    assert {key for key, _, _ in unborn} == expected
    assert {(verdict, state) for _, verdict, state in unborn} == {("deferred_birth", "birth_or_registry_missing")}
    assert one(admin, "SELECT count(*) FROM oneroof.v_finding WHERE is_open AND subject LIKE 'dot_tools:%%'") == (0,)
    kept, _, _, state = one(admin, STATE, (BORN,))
    assert (kept, state) == ("birth_registry", "ready")
    assert admin.execute(NOTES, (BORN,)).fetchall() == [("dot_tools", "DOT-0001", False)]
    check(admin)


def test_a_birth_takes_its_object_over_from_the_registry_of_its_class(
    admin: Connection, births: Source, tools: Source
) -> None:
    """It is judged as born, told as a birth, once; its row in the registry is accounted by it."""
    follow(admin, births, tools)
    (key,) = one(admin, BIRTH)
    follow(admin, births)
    assert one(admin, STATE, (UNBORN,)) == ("birth_registry", key, "covered", "ready")
    assert admin.execute(NOTES, (UNBORN,)).fetchall() == [("dot_tools", "DOT-0309", False)]
    told = admin.execute(
        "SELECT event_type FROM oneroof.governance_event WHERE subject_ref = %s AND event_type LIKE '%%object%%'",
        (UNBORN,),
    ).fetchall()
    assert told == [("governance.handoff.object_born",)]
    admin.execute("UPDATE dot_tools SET status = 'retired' WHERE dot_code = 'DOT-0309'")
    follow(admin, births, tools)
    assert one(admin, STATE, (UNBORN,))[2] == "covered"
    check(admin)


@pytest.mark.parametrize("batch", [7, 500])
def test_it_does_not_matter_which_registry_is_swept_first(
    admin: Connection, births: Source, tools: Source, batch: int
) -> None:
    """Births that come second have their objects all the same."""
    judging.sweep(admin, tools, batch=batch)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_candidate_state") == (309,)
    judging.sweep(admin, births, batch=batch)
    follow(admin, births, tools)
    left = "SELECT candidate_key FROM oneroof.governance_candidate_state WHERE source_name = 'dot_tools'"
    assert {key for (key,) in admin.execute(left)} == never_born(admin)
    noted = "SELECT count(*) FROM oneroof.governance_duplicate WHERE source_name = 'dot_tools' AND NOT is_double"
    assert one(admin, noted) == (309 - len(never_born(admin)),)
    check(admin)


def test_an_object_whose_birth_is_deleted_is_not_born(admin: Connection, births: Source, tools: Source) -> None:
    """Its registry still has it; that it was gone stays known."""
    follow(admin, births, tools)
    admin.execute("DELETE FROM birth_registry WHERE collection_name = 'dot_tools' AND entity_code = 'DOT-0001'")
    for each in (births, tools):
        judging.audit(admin, each)
        follow(admin, births, tools)
    assert one(admin, STATE, (BORN,)) == ("dot_tools", "DOT-0001", "deferred_birth", "birth_or_registry_missing")
    assert admin.execute(NOTES, (BORN,)).fetchall() == []
    check(admin)


def test_an_unborn_object_that_is_deleted_is_a_tombstone(admin: Connection, births: Source, tools: Source) -> None:
    follow(admin, births, tools)
    admin.execute("DELETE FROM dot_tools WHERE dot_code = 'DOT-0309'")
    judging.audit(admin, tools)
    follow(admin, tools)
    assert one(admin, STATE, (UNBORN,))[2] == "retired"
    check(admin)


@pytest.mark.parametrize("noted", [False, True])
def test_the_audit_gives_a_birth_what_is_its(admin: Connection, births: Source, tools: Source, noted: bool) -> None:
    """Two that meet one object at the same moment do not see each other; whoever was first has it until then."""
    follow(admin, births, tools)
    (key,) = one(admin, "SELECT source_key FROM oneroof.governance_candidate_state WHERE candidate_key = %s", (BORN,))
    admin.execute(
        "UPDATE oneroof.governance_candidate_state SET source_name = 'dot_tools', source_key = 'DOT-0001'"
        " WHERE candidate_key = %s",
        (BORN,),
    )
    admin.execute("DELETE FROM oneroof.governance_duplicate WHERE candidate_key = %s", (BORN,))
    if noted:
        admin.execute(
            "INSERT INTO oneroof.governance_duplicate VALUES ('birth_registry', %s, %s, now(), false)", (key, BORN)
        )
    judging.audit(admin, births)
    judging.judge(admin, births)
    assert one(admin, STATE, (BORN,))[:2] == ("birth_registry", key)
    assert admin.execute(NOTES, (BORN,)).fetchall() == [("dot_tools", "DOT-0001", False)]
    check(admin)


def test_rows_that_are_births_themselves_are_born(admin: Connection, births: Source, installed_database: str) -> None:
    """A registry of its own that nobody else knows anything of, and one of which it was said later."""
    admin.execute("CREATE TABLE deals (code text PRIMARY KEY)")
    admin.execute("INSERT INTO deals SELECT 'D-' || n FROM generate_series(1, 9) AS n")
    words = ["source", "add", "deals", "--key", "code"]
    assert command(*words, "--json", dsn=installed_database).json["births"] is False
    admin.execute("UPDATE oneroof.governance_source SET trusted_at = now() WHERE source_name = 'deals'")
    deals = registration.find(admin, "deals")
    verdicts = "SELECT DISTINCT verdict FROM oneroof.governance_candidate_state WHERE source_name = 'deals'"
    follow(admin, births, deals)
    assert admin.execute(verdicts).fetchall() == [("deferred_birth",)]
    assert command(*words, "--births", dsn=installed_database).code == 0
    follow(admin, registration.find(admin, "deals"))
    assert admin.execute(verdicts).fetchall() == [("covered",)]
    check(admin)


def test_a_born_object_that_is_registered_later_is_told_once(admin: Connection, births: Source, tools: Source) -> None:
    """Doc 32 §3: registered is a change of its own, although nothing about the object is another now."""
    follow(admin, births, tools)
    admin.execute(BIRTH.replace("DOT-0309", "DOT-9999"))
    follow(admin, births)
    admin.execute("INSERT INTO dot_tools (dot_code, name) VALUES ('DOT-9999', 'late')")
    told = "SELECT event_type FROM oneroof.governance_event WHERE subject_ref = 'dot_tools:DOT-9999' ORDER BY noted_at"
    for _ in range(2):
        follow(admin, births, tools)
        assert [name for (name,) in admin.execute(told)] == [
            "governance.handoff.object_born",
            "governance.handoff.object_registered",
        ]
        admin.execute("UPDATE dot_tools SET name = 'later' WHERE dot_code = 'DOT-9999'")
    check(admin)


def test_every_registry_of_the_catalog_is_added_by_one_command(admin: Connection, installed_database: str) -> None:
    """Doc 31 §2: where it is clear how; of all others it says what is in the way, and nothing is added twice."""
    admin.execute("CREATE TABLE keyless (code text)")
    admin.execute("CREATE TABLE shared (id bigint PRIMARY KEY, code text NOT NULL UNIQUE)")
    admin.execute(
        "INSERT INTO meta_catalog (entity_type, registry_collection) VALUES ('keyless', 'keyless'), ('a', 'shared'),"
        " ('b', 'shared')"
    )
    done = command("source", "add", "--catalog", "--json", dsn=installed_database)
    assert done.code == 0
    added = {each["registry"] for each in done.json if each["added"]}
    assert {"dot_tools", "information_unit", "table_registry"} <= added
    reasons = {each["registry"]: each["reason"] for each in done.json if not each["added"]}
    assert "is not there" in reasons["axis_registry"]
    assert "no unique index" in reasons["keyless"]
    assert "several" in reasons["shared"]
    assert "tailed already" in reasons["birth_registry"]
    assert added <= {each.source_name for each in registration.listing(admin)}
    again = command("source", "add", "--catalog", "--json", dsn=installed_database)
    assert (again.code, [each for each in again.json if each["added"]]) == (0, [])


@pytest.mark.parametrize("words", [[], ["dot_tools"], ["dot_tools", "--key", "dot_code", "--catalog"], ["--key", "id"]])
def test_adding_takes_a_table_and_its_key_or_the_catalog(installed_database: str, words: list[str]) -> None:
    done = command("source", "add", *words, dsn=installed_database)
    assert done.code == 2
    assert "--catalog" in done.err


def test_only_objects_are_born(admin: Connection) -> None:
    admin.execute("CREATE TABLE log (id int PRIMARY KEY)")
    with pytest.raises(Refused, match="cannot hold births as a changelog"):
        registration.add(admin, "log", key=["id"], kind=source.CHANGELOG, births=True)
