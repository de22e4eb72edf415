"""Verdicts: judged once for all who share their facts, and again where something changed (doc 31 §3, §7, §8)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from psycopg import sql

import inventory
import judging
from bed import as_user, command, connect, eventually, set_clock
from inventory import settle
from oneroof import yaml_file
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.findings import counting
from oneroof.judgement import fact_sets, ruleset
from oneroof.people import coverage_exceptions, owners, requests
from oneroof.sources.source import Source
from oneroof.tail import row_queries

HEAD = "level,subject,responsibility,owner,valid_from,valid_to\n"
VERSIONS = "SELECT candidate_key, xmin::text FROM oneroof.governance_candidate_state"
VERDICT = "SELECT verdict, undecided_reason FROM oneroof.governance_candidate_state WHERE candidate_key = %s"


@pytest.fixture
def births(admin: Connection) -> Source:
    return judging.births(admin)


@pytest.fixture
def operator(installed_database: str) -> Iterator[Connection]:
    with connect(as_user(installed_database, "requester")) as connection:
        yield connection


@pytest.fixture
def approver(installed_database: str) -> Iterator[Connection]:
    with connect(as_user(installed_database, "approver")) as connection:
        yield connection


@pytest.fixture
def judged(admin: Connection, births: Source, operator: Connection) -> Source:
    """Every collection owned by the council, everything swept and judged."""
    own(operator, "scope,*,policy,GOV-COUNCIL,,")
    judging.sweep(admin, births)
    judging.judge(admin, births)
    judging.check(admin)
    return births


def own(operator: Connection, *lines: str) -> None:
    owners.take(operator, (HEAD + "\n".join(lines)).encode(), form="csv")


def changed(admin: Connection, before: dict[str, str]) -> set[str]:
    """The candidates that were written since."""
    return {key for key, version in admin.execute(VERSIONS) if before.get(key) != version}


def versions(admin: Connection) -> dict[str, str]:
    return dict(admin.execute(VERSIONS).fetchall())


def some_covered(admin: Connection) -> tuple[str, str, str]:
    """The key, the row and the collection of an object that is covered."""
    return one(
        admin,
        "SELECT c.candidate_key, c.source_key, b.collection_name FROM oneroof.governance_candidate_state AS c"
        " JOIN birth_registry AS b ON b.id::text = c.source_key WHERE c.verdict = 'covered'"
        " ORDER BY c.candidate_key LIMIT 1",
    )


@pytest.mark.usefixtures("judged")
def test_a_sweep_writes_verdicts_and_the_gate_and_the_scan_the_rest(admin: Connection) -> None:
    """Most rows have their verdict from the sweep; the books agree throughout."""
    verdicts = {
        verdict for (verdict,) in admin.execute("SELECT DISTINCT verdict FROM oneroof.governance_candidate_state")
    }
    assert {"covered", "retired", "class_0", "deferred_birth"} <= verdicts
    (sets, candidates) = one(
        admin,
        "SELECT (SELECT count(*) FROM oneroof.governance_fact_set), (SELECT count(*) FROM"
        " oneroof.governance_candidate_state)",
    )
    assert 0 < sets < candidates


def test_without_any_owner_the_verdicts_that_need_one_wait(admin: Connection, births: Source) -> None:
    """Doc 31 §12: not an orphan, since nobody has said yet who owns what."""
    judging.sweep(admin, births)
    judging.judge(admin, births)
    judging.check(admin)
    count = (
        "SELECT count(*) FROM oneroof.governance_candidate_state"
        " WHERE verdict = %s AND undecided_reason IS NOT DISTINCT FROM %s"
    )
    assert one(admin, count, ("orphan", None)) == (0,)
    assert one(admin, count, ("covered", None)) == (0,)
    assert one(admin, count, ("undecided", "awaiting_ownership"))[0] > 0


def test_facts_that_no_sample_met_are_learned_by_the_gate(
    admin: Connection, births: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep that knows no facts leaves every candidate dirty, and the end is the same."""
    monkeypatch.setattr(fact_sets, "sample", lambda *_, **__: None)
    judging.sweep(admin, births)
    assert one(
        admin, "SELECT bool_and(dirty AND undecided_reason = 'pending') FROM oneroof.governance_candidate_state"
    ) == (True,)
    judging.judge(admin, births)
    judging.check(admin)


def test_a_change_of_one_object_is_judged_alone(admin: Connection, judged: Source) -> None:
    """One row changes: one candidate is written, and its earlier verdict is kept with the reason why it ended."""
    key, row, _ = some_covered(admin)
    before = versions(admin)
    admin.execute("UPDATE birth_registry SET status = 'retired' WHERE id::text = %s", (row,))
    judging.intake(admin, judged)
    judging.judge(admin, judged)
    assert changed(admin, before) == {key}
    assert one(admin, VERDICT, (key,)) == ("retired", None)
    assert one(
        admin, "SELECT verdict, ended_because FROM oneroof.governance_verdict_history WHERE candidate_key = %s", (key,)
    ) == ("covered", "source_row_changed")
    judging.check(admin)


def test_a_change_to_known_facts_has_its_verdict_at_once(admin: Connection, judged: Source) -> None:
    """Nobody has to be waited for, and the candidate is written once; what was found is counted again all the same."""
    key, living, retired = one(
        admin,
        "SELECT c.candidate_key, c.source_key::int, r.id FROM oneroof.governance_candidate_state AS c"
        " JOIN birth_registry AS b ON b.id::text = c.source_key"
        " JOIN birth_registry AS r ON r.collection_name = b.collection_name"
        " JOIN oneroof.governance_candidate_state AS d ON d.source_key = r.id::text"
        " WHERE c.verdict = 'covered' AND d.verdict = 'retired' ORDER BY 2, 3 LIMIT 1",
    )
    admin.execute(
        "UPDATE birth_registry AS b SET (status, species_code, governance_role, certified, actor_ref, source_system) ="
        " (SELECT r.status, r.species_code, r.governance_role, r.certified, r.actor_ref, r.source_system"
        "  FROM birth_registry AS r WHERE r.id = %s) WHERE b.id = %s",
        (retired, living),
    )
    judging.intake(admin, judged)
    assert one(admin, VERDICT, (key,)) == ("retired", None)
    assert one(
        admin, "SELECT verdict, ended_because FROM oneroof.governance_verdict_history WHERE candidate_key = %s", (key,)
    ) == ("covered", "source_row_changed")
    judging.check(admin)


@pytest.mark.parametrize("began", ["earlier", "later"])
def test_what_an_intake_did_not_know_of_an_object_is_found(
    admin: Connection, judged: Source, operator: Connection, approver: Connection, installed_database: str, began: str
) -> None:
    """An exception of a retired object is approved and judged while its row, which lives again, is being applied by
    somebody who does not see the exception yet; whoever judged it began earlier than that, or later.
    """
    key, row, _ = some_covered(admin)
    status = "UPDATE birth_registry SET status = %s WHERE id::text = %s"
    (living,) = one(admin, "SELECT status FROM birth_registry WHERE id::text = %s", (row,))
    admin.execute(status, ("retired", row))
    judging.intake(admin, judged)
    judging.judge(admin, judged)
    assert one(admin, VERDICT, (key,)) == ("retired", None)
    excuse = coverage_exceptions.add(operator, "object", key, reason="a trial")
    assert excuse.request_id is not None
    admin.execute(status, (living, row))
    with (
        connect(installed_database) as early,
        connect(installed_database) as holder,
        connect(installed_database) as applying,
        ThreadPoolExecutor(1) as aside,
    ):
        settle(admin)
        if began == "earlier":
            early.execute("BEGIN")
            early.execute("SELECT pg_current_xact_id()")
        holder.execute("BEGIN")
        holder.execute("SELECT FROM oneroof.governance_candidate_state WHERE candidate_key = %s FOR UPDATE", (key,))
        applied = aside.submit(judging.intake, applying, judged, quietly=False)
        waits = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s"
        eventually(lambda: one(admin, waits, (applying.info.backend_pid,)) == ("Lock",), what="the intake to wait")
        requests.decide(approver, excuse.request_id, "approved")
        if began == "earlier":
            early.execute(
                "SELECT oneroof.gov_objects_refresh(), oneroof.gov_objects_judge('birth_registry'::text, 100::bigint)"
            )
            early.execute("SELECT oneroof.gov_objects_judge('birth_registry'::text, 100::bigint)")
            early.execute("COMMIT")
        judging.judge(admin, judged)
        assert one(admin, "SELECT verdict FROM oneroof.governance_object WHERE candidate_key = %s", (key,)) == (
            "retired",
        )
        holder.execute("COMMIT")
        applied.result()
    settle(admin)
    judging.judge(admin, judged)
    assert one(admin, VERDICT, (key,)) == ("approved_exception", None)
    judging.check(admin)


def test_a_change_of_policy_is_judged_in_its_class_alone(admin: Connection, judged: Source) -> None:
    """A collection leaves the scope: its members and nobody else are written."""
    _, _, collection = some_covered(admin)
    before = versions(admin)
    admin.execute(
        "UPDATE collection_registry SET coverage_scope_status = 'USER_EXCLUDED',"
        " coverage_status = 'BIRTH_DEFERRED_NEEDS_REVIEW' WHERE collection_name = %s",
        (collection,),
    )
    judging.judge(admin, judged)
    members = {
        key
        for (key,) in admin.execute(
            "SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c"
            " JOIN birth_registry AS b ON b.id::text = c.source_key WHERE b.collection_name = %s",
            (collection,),
        )
    }
    written = changed(admin, before)
    assert written
    assert written <= members
    judging.check(admin)


def test_an_object_can_have_an_owner_and_an_exception_of_its_own(
    admin: Connection, judged: Source, operator: Connection, approver: Connection
) -> None:
    """Two owners of one object are its conflict; a ratified exception excuses it alone, until it is revoked."""
    key, _, _ = some_covered(admin)
    before = versions(admin)
    own(operator, f"object,{key},policy,GOV-SIV,,", f"object,{key},policy,GOV-DOT,,")
    judging.judge(admin, judged)
    state = "SELECT input_quality_state FROM oneroof.governance_candidate_state WHERE candidate_key = %s"
    assert one(admin, state, (key,)) == ("conflict",)
    excuse = coverage_exceptions.add(operator, "object", key, reason="a trial")
    assert excuse.request_id is not None
    requests.decide(approver, excuse.request_id, "approved")
    judging.judge(admin, judged)
    assert one(admin, VERDICT, (key,)) == ("approved_exception", None)
    judging.check(admin)
    coverage_exceptions.revoke(operator, excuse.exception_id)
    judging.judge(admin, judged)
    assert one(admin, VERDICT, (key,)) == ("covered", None)
    assert changed(admin, before) == {key}
    judging.check(admin)


def test_a_changed_row_of_an_object_with_facts_of_its_own_is_judged_by_both(
    admin: Connection, judged: Source, operator: Connection
) -> None:
    """What is known of the object alone does not outlive the row it was judged with."""
    key, row, _ = some_covered(admin)
    own(operator, f"object,{key},policy,GOV-SIV,,")
    judging.judge(admin, judged)
    admin.execute("UPDATE birth_registry SET status = 'superseded' WHERE id::text = %s", (row,))
    judging.intake(admin, judged)
    judging.judge(admin, judged)
    assert one(admin, VERDICT, (key,)) == ("retired", None)
    judging.check(admin)


def test_a_new_ruleset_is_judged_in_the_scope_of_what_changed(
    admin: Connection, judged: Source, operator: Connection, approver: Connection, tmp_path: Path
) -> None:
    """A rule for one class: fact sets of others are not judged again, and count as of the new version too."""
    _, _, collection = some_covered(admin)
    rule = {
        "rule_code": "one_class",
        "rule_kind": "verdict",
        "priority": 50,
        "scope": {"class": collection},
        "predicate": "true",
        "verdict": "class_0",
        "description": "a class that is left out",
    }
    judged_at = "SELECT facts_hash, judged_at FROM oneroof.governance_fact_set WHERE class <> %s ORDER BY facts_hash"
    before = admin.execute(judged_at, (collection,)).fetchall()
    file = tmp_path / "rules.yaml"
    file.write_text(yaml_file.write([*ruleset.shipped(), rule], heading="rules"), encoding="utf-8")
    ruleset.import_file(operator, file)
    request = ruleset.request_activation(operator, reason="a trial")
    requests.decide(approver, request, "approved")
    judging.judge(admin, judged)
    assert admin.execute(judged_at, (collection,)).fetchall() == before
    assert one(
        admin, "SELECT count(*) FROM oneroof.governance_fact_set WHERE ruleset_version <> oneroof.gov_ruleset_active()"
    ) == (0,)
    assert one(
        admin,
        "SELECT bool_and(c.verdict = 'class_0') FROM oneroof.governance_candidate_state AS c JOIN birth_registry AS b"
        " ON b.id::text = c.source_key WHERE b.collection_name = %s",
        (collection,),
    ) == (True,)
    judging.check(admin)


def test_a_verdict_whose_time_is_over_is_judged_again(admin: Connection, judged: Source) -> None:
    """After ninety days an owned object is stale, and then covered anew with a new time."""
    (scanned,) = one(admin, "SELECT max(scan_time) FROM oneroof.governance_candidate_state WHERE verdict = 'covered'")
    set_clock(admin, "91 days")
    judging.judge(admin, judged)
    (oldest,) = one(admin, "SELECT min(scan_time) FROM oneroof.governance_candidate_state WHERE verdict = 'covered'")
    assert oldest > scanned
    assert one(
        admin,
        "SELECT count(*) > 0 FROM oneroof.governance_verdict_history WHERE ended_because = 'ttl_expired' AND"
        " verdict = 'stale'",
    ) == (True,)
    judging.check(admin)


def test_facts_that_no_row_had_before_are_judged_with_the_rows_that_have_them(
    admin: Connection, judged: Source
) -> None:
    """One write for each row, and what is learned is what the input check would have learned."""
    changed = "UPDATE birth_registry SET species_code = 'SPC-NEW' WHERE id % 10 = 3 RETURNING id::text"
    keys = [key for (key,) in admin.execute(changed)]
    judging.intake(admin, judged)
    state = "SELECT DISTINCT dirty, change_number FROM oneroof.governance_candidate_state WHERE source_key = ANY (%s)"
    assert admin.execute(state, (keys,)).fetchall() == [(False, 2)]
    learned = (
        "SELECT facts_hash, group_key, class, grain, row_facts FROM oneroof.governance_fact_set"
        " WHERE row_facts ->> 'species_code' = 'SPC-NEW'"
    )
    found = admin.execute(row_queries.item_facts(judged), {"keys": keys}).fetchall()
    assert sorted(map(str, admin.execute(learned))) == sorted(map(str, found)) != []
    judging.check(admin)


def test_a_row_that_is_gone_before_it_was_looked_at_has_vanished(admin: Connection, judged: Source) -> None:
    """It stays accounted, undecided, until the audit decides. Of a class that was never looked at, so that the intake
    cannot judge its facts.
    """
    birth = (
        "INSERT INTO birth_registry"
        " (entity_code, collection_name, species_code, governance_role, status, certified, born_at)"
        " VALUES ('GONE-1', 'never_looked_at', 'SPC-99', 'root', 'born', false, now()) RETURNING id"
    )
    (number,) = one(admin, birth)
    judging.intake(admin, judged)
    admin.execute("DELETE FROM birth_registry WHERE id = %s", (number,))
    judging.judge(admin, judged)
    assert one(admin, VERDICT, ("never_looked_at:GONE-1",)) == ("undecided", "vanished")
    judging.check(admin)


def write_by_the_older(slow: Connection, key: str) -> None:
    slow.execute(
        "UPDATE oneroof.governance_candidate_state SET verdict = 'covered', input_quality_state = 'ready'"
        " WHERE candidate_key = %s",
        (key,),
    )
    slow.execute("COMMIT")


def hears_of_it(admin: Connection, judged: Source) -> None:
    """Whoever was written by an older judgement, when everybody is finished."""
    settle(admin)
    judging.judge(admin, judged)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_fact_set WHERE is_spreading") == (0,)
    judging.check(admin)


def test_who_wrote_by_an_older_judgement_is_found(admin: Connection, judged: Source, installed_database: str) -> None:
    """A change of policy is not done with while somebody is at work who has read the older judgement."""
    key, _, collection = some_covered(admin)
    with connect(installed_database) as slow:
        slow.execute("BEGIN")
        slow.execute("SELECT pg_current_xact_id()")
        # It has read the judgement as it was, and writes a member by it when everybody else is through.
        slow.execute("SELECT verdict FROM oneroof.governance_fact_set")
        admin.execute(
            "UPDATE collection_registry SET coverage_scope_status = 'USER_EXCLUDED',"
            " coverage_status = 'BIRTH_DEFERRED_NEEDS_REVIEW' WHERE collection_name = %s",
            (collection,),
        )
        judging.judge(admin, judged)
        assert one(admin, "SELECT count(*) > 0 FROM oneroof.governance_fact_set WHERE is_spreading") == (True,)
        write_by_the_older(slow, key)
    hears_of_it(admin, judged)


def test_who_began_after_the_judge_and_read_before_him_is_waited_for(
    admin: Connection, judged: Source, installed_database: str
) -> None:
    """A judge begins; then somebody who reads the judgement as it was; then it is judged, spread and committed."""
    key, _, collection = some_covered(admin)
    admin.execute(
        "UPDATE collection_registry SET coverage_scope_status = 'USER_EXCLUDED',"
        " coverage_status = 'BIRTH_DEFERRED_NEEDS_REVIEW' WHERE collection_name = %s",
        (collection,),
    )
    with connect(installed_database) as judge, connect(installed_database) as slow:
        for session in (judge, slow):
            session.execute("BEGIN")
            session.execute("SELECT pg_current_xact_id()")
        slow.execute("SELECT verdict FROM oneroof.governance_fact_set")
        judge.execute(
            "SELECT oneroof.gov_classes_refresh(), oneroof.gov_fact_sets_judge('birth_registry'::text, 10000::bigint)"
        )
        judge.execute("SELECT oneroof.gov_fact_sets_judge('birth_registry'::text, 10000::bigint)")
        judge.execute("SELECT oneroof.gov_scan_spread('birth_registry'::text, 10000::bigint)")
        judge.execute("COMMIT")
        judging.judge(admin, judged)
        assert one(admin, "SELECT count(*) > 0 FROM oneroof.governance_fact_set WHERE is_spreading") == (True,)
        write_by_the_older(slow, key)
    hears_of_it(admin, judged)


def test_a_finding_has_the_number_of_objects_and_closes_with_the_last(
    admin: Connection, births: Source, operator: Connection
) -> None:
    """One for each type and class, never one for each object (doc 31 §10)."""
    own(operator, "collection,no_such_collection,policy,GOV-COUNCIL,,")
    judging.sweep(admin, births)
    judging.judge(admin, births)
    judging.check(admin)
    told = (
        "SELECT subject, (details ->> 'population')::bigint FROM oneroof.v_finding"
        " WHERE issue_type = 'governance_orphan' AND is_open ORDER BY 1"
    )
    found = admin.execute(told).fetchall()
    counted = admin.execute(
        "SELECT 'birth_registry:' || b.collection_name, count(*) FROM oneroof.governance_candidate_state AS c"
        " JOIN birth_registry AS b ON b.id::text = c.source_key WHERE c.verdict = 'orphan' GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert found == counted
    assert found
    own(operator, "scope,*,policy,GOV-COUNCIL,,")
    judging.judge(admin, births)
    assert admin.execute(told).fetchall() == []
    judging.check(admin)


def test_a_trace_tells_why_a_verdict_changed(admin: Connection, judged: Source, installed_database: str) -> None:
    """The row as it is, the facts, the rule, what it was before and why that ended; a wrong key names the next one."""
    key, row, collection = some_covered(admin)
    admin.execute("UPDATE birth_registry SET status = 'retired' WHERE id::text = %s", (row,))
    judging.intake(admin, judged)
    judging.judge(admin, judged)
    told = command("trace", key, "--json", dsn=installed_database).json
    assert (told["candidate"]["verdict"], told["candidate"]["rule_code"]) == ("retired", "terminal_status")
    assert told["candidate"]["facts"]["row"]["status"] == told["row"]["status"] == "retired"
    assert told["candidate"]["facts"]["class"] == collection
    assert [(was["verdict"], was["ended_because"]) for was in told["history"]] == [("covered", "source_row_changed")]
    assert "terminal_status" in told["rules"]
    shown = command("trace", key, dsn=installed_database)
    assert shown.code == 0
    assert "source_row_changed" in shown.out
    wrong = command("trace", key[:-1], dsn=installed_database)
    assert wrong.code == 1
    assert key in wrong.err


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE oneroof.governance_candidate_state SET source_key = 'no number' WHERE candidate_key = {}",
        "UPDATE oneroof.governance_candidate_state SET source_key = '99999999999999999999' WHERE candidate_key = {}",
        "ALTER TABLE birth_registry RENAME COLUMN id TO other",
        "UPDATE oneroof.governance_source SET key_columns = '{{id,collection_name}}' WHERE {} IS NOT NULL",
    ],
)
@pytest.mark.usefixtures("judged")
def test_a_trace_of_an_object_whose_row_cannot_be_read_tells_the_rest(
    admin: Connection, installed_database: str, spoil: str
) -> None:
    """What was made up behind our back, or a key that is another one now: the story, why, and what helps."""
    key, *_ = some_covered(admin)
    admin.execute(sql.SQL(spoil).format(sql.Literal(key)))
    told = command("trace", key, "--json", dsn=installed_database)
    assert told.code == 0, told.err
    assert (told.json["candidate"]["verdict"], told.json["row"]) == ("covered", None)
    shown = command("trace", key, dsn=installed_database)
    assert shown.code == 0
    if "key_columns" not in spoil:
        assert told.json["unreadable"]
        assert "cannot be read" in shown.out
    assert "oneroof run periodic_full_audit" in shown.out
    assert "oneroof prove" in shown.out


def test_a_plan_for_one_row_is_not_kept_for_thousands(admin: Connection) -> None:
    """What the books do with a batch grows with the batch and not with its square, whatever the session did before."""
    made = inventory.make(admin)
    admin.execute("INSERT INTO src SELECT n, now(), 'code ' || n, 'born' FROM generate_series(1, 9000) AS n")
    inventory.sweep(admin, made, batch=3_000)
    admin.execute("VACUUM ANALYZE oneroof.governance_candidate_state")
    # Until the session keeps its plans.
    for number in range(1, 8):
        moving(admin, number, number)
    small = min(moving(admin, 1001, 1500) for _ in range(3))
    large = moving(admin, 1001, 9000)
    assert large / small < 60, f"16 times the rows took {large / small:.0f} times as long"


def moving(admin: Connection, first: int, last: int) -> float:
    """Seconds that it takes to give these candidates another verdict."""
    began = time.perf_counter()
    moved = admin.execute(
        "UPDATE oneroof.governance_candidate_state SET verdict = CASE verdict WHEN 'orphan' THEN 'covered' ELSE"
        " 'orphan' END"
        " WHERE source_key::int BETWEEN %s AND %s",
        (first, last),
    )
    assert moved.rowcount == last - first + 1
    return time.perf_counter() - began


def test_a_group_whose_members_have_other_facts_is_counted_again(admin: Connection) -> None:
    """Their findings may be others, even where the group has as many of each verdict as before."""
    made = inventory.make(admin)
    admin.execute("INSERT INTO src SELECT n, now(), 'code ' || n, 'born' FROM generate_series(1, 20) AS n")
    inventory.sweep(admin, made)
    judging.judge(admin, made)
    counting.count(admin, made)
    moved = "SELECT count(*) FROM oneroof.governance_ledger WHERE xmin::text = %s"
    with admin.transaction():
        admin.execute(
            "UPDATE oneroof.governance_candidate_state SET facts_hash = facts_hash + 1 WHERE source_key = '3'"
        )
        (xid,) = one(admin, "SELECT pg_current_xact_id()::xid::text")
        assert one(admin, moved, (xid,)) == (1,)
    with admin.transaction():
        admin.execute("UPDATE oneroof.governance_candidate_state SET updated_at = now() WHERE source_key = '3'")
        (xid,) = one(admin, "SELECT pg_current_xact_id()::xid::text")
        assert one(admin, moved, (xid,)) == (0,)


def test_findings_are_counted_again_while_others_write(admin: Connection, installed_database: str) -> None:
    """What moved since the last count is known by its xid, however many transactions are open beyond it."""
    made = inventory.make(admin)
    admin.execute("INSERT INTO src SELECT n, now(), 'code ' || n, 'born' FROM generate_series(1, 20) AS n")
    inventory.sweep(admin, made)
    judging.judge(admin, made)
    settle(admin)
    counting.count(admin, made)
    counted = "SELECT max(xmin::text::bigint) FROM oneroof.governance_class WHERE source_name = 'src'"
    (before,) = one(admin, counted)
    admin.execute("UPDATE oneroof.governance_candidate_state SET facts_hash = facts_hash + 1 WHERE source_key = '3'")
    with ExitStack() as stack:
        for _ in range(5):
            other = stack.enter_context(connect(installed_database))
            stack.enter_context(other.transaction())
            other.execute("SELECT pg_current_xact_id()")
        counting.count(admin, made)
        assert one(admin, counted)[0] > before


def test_a_verdict_that_an_intake_writes_has_one_moment(admin: Connection, judged: Source) -> None:
    """Its time is over as long after it was made as its rule says, to the microsecond: an audit compares them."""
    admin.execute(
        "INSERT INTO birth_registry (collection_name, entity_code, species_code, governance_role, status, certified,"
        " actor_ref, source_system) SELECT collection_name, 'twin-' || id, species_code, governance_role, status,"
        " certified, actor_ref, source_system FROM birth_registry WHERE id <= 300"
    )
    judging.intake(admin, judged)
    written, apart = one(
        admin,
        "SELECT count(c.stale_after), count(*) FILTER (WHERE c.stale_after <> c.scan_time + f.stale_after)"
        " FROM oneroof.governance_candidate_state AS c JOIN oneroof.governance_fact_set AS f USING (source_name,"
        " facts_hash)"
        " WHERE c.candidate_key LIKE '%:twin-%' AND NOT c.dirty",
    )
    assert written > 0
    assert apart == 0
