"""The ten states of an object's input, each reached from data alone (doc 31 §5)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import inventory
import judging
from bed import as_user, connect, set_clock
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.fence import lease
from oneroof.people import owners, requests
from oneroof.sources import registration
from oneroof.workers import candidate_scan
from oneroof.workers.candidate_scan import CandidateScan

HEAD = "level,subject,responsibility,owner,valid_from,valid_to\n"
STATE = (
    "SELECT input_quality_state, verdict, undecided_reason FROM oneroof.governance_candidate_state WHERE"
    " candidate_key = %s"
)
OPEN = "SELECT count(*) FROM oneroof.v_finding WHERE issue_type = %s AND subject = %s AND is_open"


@pytest.fixture
def operator(installed_database: str) -> Iterator[Connection]:
    with connect(as_user(installed_database, "requester")) as connection:
        owners.take(connection, f"{HEAD}scope,*,policy,GOV-COUNCIL,,\n".encode(), form="csv")
        yield connection


def give_birth(admin: Connection, *, kind: str = "customer_records", code: str = "X-1", **more: str | None) -> str:
    """A birth that is well but for what is said; its candidate key."""
    row = {"species_code": "SPC-01", "governance_role": "container", "status": "born", **more}
    admin.execute(
        "INSERT INTO birth_registry"
        " (collection_name, entity_code, species_code, governance_role, status, certified, born_at)"
        " VALUES (%s, %s, %s, %s, %s, true, clock_timestamp())",
        (kind, code, row["species_code"], row["governance_role"], row["status"]),
    )
    return f"{kind}:{code}"


def judge_all(admin: Connection) -> None:
    births = judging.births(admin)
    judging.sweep(admin, births)
    judging.intake(admin, births)
    judging.judge(admin, births)


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize(
    ("given", "state", "verdict", "finding"),
    [
        ({}, "ready", "covered", None),
        ({"status": "unknown"}, "incomplete", "covered", "input_incomplete"),
        ({"governance_role": "emperor"}, "invalid_schema", "covered", "input_invalid_schema"),
        ({"status": "quarantined"}, "quarantined", "undecided", "input_quarantined"),
        ({"kind": "nobody_registered_it"}, "birth_or_registry_missing", "deferred_birth", None),
    ],
)
def test_a_row_says_it(admin: Connection, given: dict[str, str], state: str, verdict: str, finding: str | None) -> None:
    key = give_birth(admin, **given)
    judge_all(admin)
    assert one(admin, STATE, (key,))[:2] == (state, verdict)
    if finding is not None:
        assert one(admin, OPEN, (finding, "birth_registry:customer_records")) == (1,)


@pytest.mark.usefixtures("operator")
def test_a_class_whose_registry_is_not_there_fails_closed(admin: Connection) -> None:
    """Doc 31 §2: an inventory gap is found, and nothing is said of the objects of the class."""
    admin.execute(
        "INSERT INTO collection_registry (code, collection_name, coverage_status, coverage_scope_status)"
        " VALUES ('COL-AXIS', 'axis', 'BIRTH_REQUIRED', 'IN_SCOPE')"
    )
    key = give_birth(admin, kind="axis")
    judge_all(admin)
    assert one(admin, STATE, (key,)) == ("needs_backfill", "undecided", "inventory_gap")
    assert one(admin, OPEN, ("backfill_inventory_gap", "birth_registry:axis")) == (1,)
    admin.execute("CREATE TABLE axis_registry (id int)")
    judge_all(admin)
    assert one(admin, STATE, (key,)) == ("ready", "covered", None)
    assert one(admin, OPEN, ("backfill_inventory_gap", "birth_registry:axis")) == (0,)


@pytest.mark.usefixtures("operator")
def test_a_registry_that_is_not_there_is_a_gap_before_anything_is_born(admin: Connection) -> None:
    """The estate's catalog has one; it closes when the registry is there, and is no other's while there are objects."""
    give_birth(admin)
    judge_all(admin)
    assert one(admin, OPEN, ("backfill_inventory_gap", "meta_catalog:axis")) == (1,)
    give_birth(admin, kind="axis")
    judge_all(admin)
    judge_all(admin)
    assert one(admin, OPEN, ("backfill_inventory_gap", "meta_catalog:axis")) == (0,)
    admin.execute(
        'INSERT INTO meta_catalog SELECT (jsonb_populate_record(m, \'{"id": 9999, "code": "CAT-X",'
        ' "entity_type": "x", "registry_collection": "x_registry"}\')).* FROM meta_catalog AS m LIMIT 1'
    )
    judge_all(admin)
    assert one(admin, OPEN, ("backfill_inventory_gap", "meta_catalog:x")) == (1,)
    admin.execute("CREATE TABLE x_registry (id int)")
    judge_all(admin)
    assert one(admin, OPEN, ("backfill_inventory_gap", "meta_catalog:x")) == (0,)


def test_a_gap_that_lasts_is_one_occurrence_however_often_it_is_looked_at(admin: Connection) -> None:
    """Half a minute later, and half a minute after that."""
    key = "backfill_inventory_gap:meta_catalog:axis"
    count = "SELECT occurrence_count FROM oneroof.v_finding WHERE is_open AND coalesce_key = %s"
    for seconds in (0, 31, 62):
        set_clock(admin, f"{seconds} seconds")
        admin.execute("SELECT oneroof.gov_inventory_gaps()")
        assert one(admin, count, (key,)) == (1,)


def test_what_a_class_inherits_reaches_objects_of_which_more_is_known(admin: Connection, operator: Connection) -> None:
    """Also when the class was marked by the change log before anybody looked at it."""
    keys = [give_birth(admin), give_birth(admin, code="other")]
    owners.take(operator, f"{HEAD}object,{keys[0]},health,GOV-SIV,,\n".encode(), form="csv")
    judge_all(admin)
    assert {one(admin, STATE, (key,))[1] for key in keys} == {"covered"}
    admin.execute(
        "UPDATE collection_registry SET coverage_status = 'BIRTH_DEFERRED_NEEDS_REVIEW',"
        " coverage_scope_status = 'FUTURE_SCOPE' WHERE collection_name = 'customer_records'"
    )
    admin.execute("UPDATE oneroof.governance_fact_set SET is_dirty = true")
    judge_all(admin)
    assert {one(admin, STATE, (key,))[1] for key in keys} == {"class_0"}


def test_two_owners_are_a_conflict(admin: Connection, operator: Connection) -> None:
    key = give_birth(admin)
    lines = "".join(f"collection,customer_records,policy,{office},,\n" for office in ("GOV-SIV", "GOV-DOT"))
    owners.take(operator, f"{HEAD}{lines}".encode(), form="csv")
    judge_all(admin)
    assert one(admin, STATE, (key,))[0] == "conflict"
    assert one(admin, OPEN, ("owner_conflict", "birth_registry:customer_records")) == (1,)


def test_what_is_said_of_one_object_is_a_finding_though_nothing_else_moves(
    admin: Connection, operator: Connection
) -> None:
    """Two owners of one object, recorded when everything is judged and counted; then one of them goes."""
    key = give_birth(admin)
    judge_all(admin)
    verdict = one(admin, STATE, (key,))[1]
    lines = [f"object,{key},health,{office},,\n" for office in ("GOV-SIV", "GOV-DOT")]
    owners.take(operator, f"{HEAD}{''.join(lines)}".encode(), form="csv")
    judge_all(admin)
    assert one(admin, STATE, (key,))[:2] == ("conflict", verdict)
    assert one(admin, OPEN, ("owner_conflict", "birth_registry:customer_records")) == (1,)


@pytest.mark.usefixtures("operator")
def test_a_second_row_that_comes_later_is_a_duplicate_without_an_audit(admin: Connection) -> None:
    """By the tail: of an object from before, and of one that came with it; told once, and a finding."""
    births, keys = judging.births(admin), [give_birth(admin)]
    judge_all(admin)
    judging.intake(admin, births)
    keys += [give_birth(admin, code="twins")]
    for code in ("X-1", "twins"):
        give_birth(admin, code=code, status="retired")
    for _ in range(2):
        judging.intake(admin, births)
        judging.judge(admin, births)
    assert [one(admin, STATE, (key,))[0] for key in keys] == ["duplicate", "duplicate"]
    noted = "SELECT count(*) FROM oneroof.governance_duplicate WHERE candidate_key = ANY (%s)"
    assert one(admin, noted, (keys,)) == (2,)
    assert one(admin, OPEN, ("input_duplicate", "birth_registry:customer_records")) == (1,)
    judging.check(admin)


@pytest.mark.usefixtures("operator")
def test_several_rows_of_one_object_are_a_duplicate(admin: Connection) -> None:
    """They collapse into the first; the others are noted as accounted by it (doc 31 §6)."""
    key = give_birth(admin)
    give_birth(admin, status="retired")
    judge_all(admin)
    judge_all(admin)
    assert one(admin, STATE, (key,)) == ("duplicate", "covered", None)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_duplicate WHERE candidate_key = %s", (key,)) == (1,)


@pytest.mark.usefixtures("operator")
def test_what_was_not_renewed_in_time_is_stale(admin: Connection) -> None:
    """Until the scan has come round to it."""
    key = give_birth(admin)
    judge_all(admin)
    set_clock(admin, "91 days")
    births = judging.births(admin)
    held = lease.claim(admin, f"{candidate_scan.NAME}:birth_registry", instance="test")
    scan = CandidateScan(admin, births, held)
    stale = (
        "SELECT count(*) FROM oneroof.governance_candidate_state WHERE verdict = 'stale' AND"
        " input_quality_state = 'stale'"
    )
    while one(admin, stale) == (0,):
        assert not scan.run_once().idle
    lease.release(admin, held)
    judging.judge(admin, births)
    assert one(admin, STATE, (key,)) == ("ready", "covered", None)


def test_a_source_that_nobody_vouched_for_is_untrusted(
    admin: Connection, operator: Connection, installed_database: str
) -> None:
    """Its rows are candidates all the same; they count when a second person has approved (doc 32 §7)."""
    tailed = inventory.make(admin, is_trusted=False)
    admin.execute("INSERT INTO src VALUES (1, now(), 'a')")
    judging.sweep(admin, tailed)
    judging.judge(admin, tailed)
    assert one(admin, STATE, ("src:a",)) == ("untrusted_source", "undecided", "untrusted")
    request = registration.request_trust(operator, "src", reason="we know who fills it")
    with connect(as_user(installed_database, "approver")) as approver:
        requests.decide(approver, request, "approved")
    judging.judge(admin, tailed)
    assert one(admin, STATE, ("src:a",)) == ("ready", "covered", None)
