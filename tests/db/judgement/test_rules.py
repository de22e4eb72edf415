"""The shipped rules, and how rules are asked: what every kind of object comes to, and why (doc 31 §3 and §7)."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from bed import Bed, connect
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.judgement import ruleset, ruleset_cases

CASES = ruleset.entries(
    Path(__file__).with_name("default_cases.yaml").read_text(encoding="utf-8"), heading="cases", name="default_cases"
)
VERDICTS = {"covered", "orphan", "approved_exception", "retired", "stale", "deferred_birth", "class_0", "undecided"}
REASONS = {
    "awaiting_ownership",
    "untrusted",
    "quarantined",
    "retry",
    "dead_letter",
    "vanished",
    "inventory_gap",
    "no_rule",
}
STATES = {
    "ready",
    "incomplete",
    "invalid_schema",
    "duplicate",
    "conflict",
    "stale",
    "untrusted_source",
    "quarantined",
    "birth_or_registry_missing",
    "needs_backfill",
}


@pytest.fixture(scope="module")
def admin(bed: Bed) -> Iterator[Connection]:
    """One installed database for all tests here that only ask."""
    with bed.database(bed.installed()) as name, connect(bed.dsn(name)) as connection:
        yield connection


@pytest.fixture
def scratch(installed_database: str) -> Iterator[Connection]:
    """An installed database of a test's own, for what changes the rules."""
    with connect(installed_database) as connection:
        yield connection


def replace(connection: Connection, entries: list[dict[str, Any]]) -> None:
    connection.execute("SELECT oneroof.gov_rules_import(%s)", (Jsonb(entries),))


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_the_shipped_rules_say(admin: Connection, case: dict[str, Any]) -> None:
    """Each case of default_cases.yaml, under the active ruleset as the installation planted it."""
    facts = ruleset_cases.merge(ruleset.example(admin), case["facts"])
    (found,) = ruleset.evaluate(admin, [facts], which="active")
    expected = (case["verdict"], case["undecided_reason"], case["input_state"], case["findings"])
    assert (found.verdict, found.undecided_reason, found.input_state, found.finding_types) == expected


def test_every_verdict_reason_input_state_and_type_is_reached(admin: Connection) -> None:
    """The cases above reach all verdicts and states but `stale`, which time alone makes, all reasons, and every type
    that a rule can find.
    """
    assert {case["verdict"] for case in CASES} == VERDICTS - {"stale"}
    assert {case["undecided_reason"] for case in CASES} - {None} == REASONS
    assert {case["input_state"] for case in CASES} == STATES - {"stale"}
    shipped = {rule.finding_type for rule in ruleset.listing(admin, "active")} - {None}
    reached = {finding for case in CASES for finding in case["findings"]}
    assert reached == shipped | {"candidate_unknown"}
    assert len(reached) >= 20
    rows = admin.execute("SELECT issue_type FROM oneroof.governance_finding_type").fetchall()
    assert reached <= {name for (name,) in rows}


def test_every_shipped_rule_decides_or_finds_in_some_case(admin: Connection) -> None:
    """No rule is there for nothing."""
    ordinary = ruleset.example(admin)
    facts = [ruleset_cases.merge(ordinary, case["facts"]) for case in CASES]
    judged = ruleset.evaluate(admin, facts, which="active")
    deciding = {each.rule_code for each in judged} | {each.input_rule for each in judged}
    found = {finding for each in judged for finding in each.finding_types}
    for rule in ruleset.listing(admin, "active"):
        assert rule.rule_code in deciding or rule.finding_type in found, rule.rule_code


def test_a_finding_type_has_all_that_routing_needs(admin: Connection) -> None:
    """Bucket of the host, severity, whom it goes to, and what it means; more than 20 of governance."""
    found = admin.execute(
        "SELECT issue_type, bucket, owner_hint, description FROM oneroof.governance_finding_type"
    ).fetchall()
    assert {bucket for _, bucket, _, _ in found} == {"thiếu_quan_hệ", "sai_lệch_dữ_liệu", "silent_fail"}
    assert all(owner.startswith("GOV-") and len(description) > 10 for _, _, owner, description in found)
    assert len(found) >= 29
    council = {name for name, _, owner, _ in found if owner == "GOV-COUNCIL"}
    assert {"island", "owner_conflict", "unratified_exception", "input_conflict"} <= council


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_an_unborn_object_never_has_a_finding(admin: Connection, seed: int) -> None:
    """Birth before governance, whatever else is true of it (doc 31 §7), if it is there and trusted."""
    chance = random.Random(seed)
    facts = [random_facts(chance) for _ in range(50)]
    for each in facts:
        each["state"] |= {"born": False, "trusted": True, "gone": False}
    for found in ruleset.evaluate(admin, facts, which="active"):
        assert (found.verdict, found.finding_types) == ("deferred_birth", [])


def random_facts(chance: random.Random) -> dict[str, Any]:
    """Any facts at all within the contract."""
    flag = (True, False)
    count = (0, 1, 2)
    return {
        "source": chance.choice(("birth_registry", "dot_tools")),
        "class": chance.choice(("orders", None)),
        "grain": chance.choice(("governed", "inherited")),
        "row": {
            "status": chance.choice(("born", "retired", "draft", "unknown", None)),
            "governance_role": chance.choice(("root", "leaf", "other", None)),
            "species_code": chance.choice(("SPC-01", None)),
            "certified": chance.choice(("true", "false")),
            "actor_ref": chance.choice(("host", None)),
            "source_system": chance.choice(("birth_gate", "legacy_import", "unknown")),
        },
        "collection": {
            "registered": chance.choice(flag),
            "coverage_status": chance.choice((None, "BIRTH_REQUIRED", "BIRTH_EXEMPT_X", "BIRTH_DEFERRED_NEEDS_REVIEW")),
            "coverage_scope_status": chance.choice(
                (None, "IN_SCOPE", "USER_EXCLUDED", "FUTURE_SCOPE", "ORPHAN_REGISTRY")
            ),
            "coverage_exemption_reason": chance.choice((None, "why")),
            "coverage_review_owner": chance.choice((None, "GOV-SIV")),
        },
        "inventory": {"cataloged": chance.choice(flag), "missing": chance.random() < 0.2},
        "owners": {
            "known": chance.choice(flag),
            **{
                name: chance.choice(count)
                for name in ("policy", "health", "execution", "render", "approval", "audit", "unknown")
            },
            "conflict": chance.choice(flag),
        },
        "exception": chance.choice(("none", "unratified", "ratified", "expired")),
        "state": {
            "born": chance.random() < 0.8,
            "trusted": chance.random() < 0.8,
            "failed": chance.choice(("none", "none", "none", "retry", "dead")),
            **{name: chance.random() < 0.2 for name in ("gone", "vanished", "duplicate", "quarantined", "reborn")},
        },
    }


MATCHING = """
SELECT f.place, r.rule_code, r.rule_kind, r.priority
FROM unnest(%(facts)s::jsonb[]) WITH ORDINALITY AS f (facts, place)
JOIN oneroof.governance_rule AS r ON r.enabled AND f.facts @> r.scope
  AND coalesce(jsonb_path_match(f.facts, r.predicate, '{}', true), false)
WHERE r.rule_kind = ANY (%(kinds)s)"""


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_lowest_priority_that_matches_decides(admin: Connection, seed: int) -> None:
    """Random rules, random facts: the server's evaluation is the plain re-statement of it in Python."""
    chance = random.Random(seed)
    shipped = ruleset.listing(admin, "active")
    with admin.transaction(force_rollback=True):
        chosen = chance.sample(shipped, chance.randint(0, len(shipped)))
        entries = [
            rule.entry() | {"priority": place * 10, "enabled": chance.random() < 0.9}
            for place, rule in enumerate(chosen)
        ]
        replace(admin, entries)
        facts = [random_facts(chance) for _ in range(20)]
        by_code = {entry["rule_code"]: entry for entry in entries}

        def matching(values: list[dict[str, Any]], *kinds: str) -> dict[int, list[tuple[int, str, str]]]:
            rows = admin.execute(MATCHING, {"facts": [Jsonb(each) for each in values], "kinds": list(kinds)}).fetchall()
            found: dict[int, list[tuple[int, str, str]]] = {}
            for place, code, kind, priority in rows:
                found.setdefault(place, []).append((priority, kind, code))
            return found

        def first(matched: list[tuple[int, str, str]], wanted: str) -> str | None:
            return min(((priority, code) for priority, kind, code in matched if kind == wanted), default=(0, None))[1]

        deciding = matching(facts, "verdict", "input")
        expected: list[tuple[Any, ...]] = []
        for place, each in enumerate(facts, start=1):
            rule, gate = (first(deciding.get(place, []), kind) for kind in ("verdict", "input"))
            verdict = by_code[rule]["verdict"] if rule else "undecided"
            reason = by_code[rule].get("undecided_reason") if rule else "no_rule"
            state = by_code[gate]["input_state"] if gate else "incomplete"
            each["decided"] = {"verdict": verdict, "undecided_reason": reason, "input_state": state}
            expected.append((verdict, reason, rule, state, gate))
        finding = matching(facts, "finding")
        judged = ruleset.evaluate(admin, [{k: v for k, v in each.items() if k != "decided"} for each in facts])
        for place, (found, said) in enumerate(zip(judged, expected, strict=True), start=1):
            assert (found.verdict, found.undecided_reason, found.rule_code, found.input_state, found.input_rule) == said
            types = {by_code[code]["finding_type"] for _, _, code in finding.get(place, [])}
            unknown = {"candidate_unknown"} if said[2] is None or said[4] is None else set()
            assert found.finding_types == sorted(types | unknown)


def test_a_missing_field_is_false_and_no_facts_can_make_it_fail(admin: Connection) -> None:
    """Nothing, null, other types and depths: every one gets an answer."""
    strange: list[Any] = [{}, {"state": None}, {"state": []}, {"owners": {"policy": "many"}}, {"row": {"status": 1}}]
    strange += [{"collection": {"coverage_status": 7}}, [], [1, 2], "text", 5, True]
    judged = ruleset.evaluate(admin, strange, which="active")
    assert [each.verdict for each in judged] == ["undecided"] * len(strange)
    assert {each.undecided_reason for each in judged} == {"no_rule"}
    assert ruleset.evaluate(admin, [], which="active") == []


def test_the_order_of_facts_is_kept_and_each_is_judged_alone(admin: Connection) -> None:
    """Many at once say what each says by itself."""
    chance = random.Random(3)
    facts = [random_facts(chance) for _ in range(200)]
    together = ruleset.evaluate(admin, facts, which="active")
    assert together[::40] == list(
        itertools.chain.from_iterable(ruleset.evaluate(admin, [each], which="active") for each in facts[::40])
    )
    assert len({each.verdict for each in together}) >= 5


def test_without_rules_everything_is_undecided_and_found(scratch: Connection) -> None:
    """Fail closed: no rule decides, and that is itself a finding."""
    replace(scratch, [])
    (found,) = ruleset.evaluate(scratch, [ruleset.example(scratch)])
    assert (found.verdict, found.undecided_reason, found.input_state) == ("undecided", "no_rule", "incomplete")
    assert found.finding_types == ["candidate_unknown"]


def test_a_scope_narrows_a_rule_to_what_contains_it(scratch: Connection) -> None:
    """Containment, nested too; and a rule that is not enabled is not asked."""
    rule: dict[str, Any] = {
        "rule_code": "only_orders",
        "rule_kind": "verdict",
        "priority": 1,
        "scope": {"class": "orders", "state": {"born": True}},
        "predicate": "true",
        "verdict": "covered",
        "stale_after": "2 hours",
        "description": "orders",
    }
    replace(scratch, [rule])
    facts = [ruleset.example(scratch), ruleset.example(scratch) | {"class": "other"}]
    first, other = ruleset.evaluate(scratch, facts)
    assert (first.rule_code, first.stale_after, other.rule_code) == ("only_orders", "02:00:00", None)
    replace(scratch, [rule | {"enabled": False}])
    assert [each.rule_code for each in ruleset.evaluate(scratch, facts)] == [None, None]


@pytest.mark.parametrize(
    ("predicate", "scope", "mentioned"),
    [
        ("$.class == null", {}, {("class", None)}),
        ('$.row.status == "a" || $.owners.policy > 0', {}, {("row", "status"), ("owners", None)}),
        ('$.class == "$.\\"owners\\" $"', {}, {("class", None)}),
        ("true", {"row": {"status": "born"}, "class": "x"}, {("row", "status"), ("class", None)}),
        ('exists($.row ? (@.status == "a"))', {}, {("row", None)}),
        ("exists($.row.* ? (@ == null))", {}, {("row", None)}),
        ("exists($.* ? (@ == 1))", {}, {(None, None)}),
        ("exists($.** ? (@ == 1))", {}, {(None, None)}),
        ("exists($ ? (@.class == null))", {}, {(None, None)}),
    ],
)
def test_what_a_rule_looks_at_is_known(
    scratch: Connection, predicate: str, scope: dict[str, Any], mentioned: set[tuple[str | None, str | None]]
) -> None:
    """Facts that differ elsewhere are judged once, and those that differ there are never taken for one another."""
    rule = {"rule_code": "mine", "rule_kind": "verdict", "priority": 1, "verdict": "covered", "description": "mine"}
    replace(scratch, [rule | {"predicate": predicate, "scope": scope}])
    assert set(scratch.execute("SELECT * FROM oneroof.gov_rules_mentions('working')").fetchall()) == mentioned
    chance = random.Random(7)
    facts = [random_facts(chance) | {"n": 1 if chance.random() < 0.5 else 0} for _ in range(100)]
    together = ruleset.evaluate(scratch, facts)
    alone = [found for each in facts for found in ruleset.evaluate(scratch, [each])]
    assert together == alone


def test_the_shipped_rules_look_at_nothing_that_every_collection_has_of_its_own(admin: Connection) -> None:
    """So that thousands of classes and species come to a handful of judgements."""
    rows = set(admin.execute("SELECT * FROM oneroof.gov_rules_mentions(NULL)").fetchall())
    assert (
        not {("class", None), ("row", "collection_name"), ("row", "species_code"), ("row", None), (None, None)} & rows
    )
    assert {("row", "status"), ("owners", None), ("state", None), ("decided", None), ("source", None)} <= rows


@pytest.mark.slow
def test_judging_takes_no_more_than_its_share_of_rules(scratch: Connection) -> None:
    """Two thousand facts that share nothing, by the shipped rules and by two hundred; the best of three each."""
    shipped = [rule.entry() for rule in ruleset.listing(scratch)]
    more = [
        {
            "rule_code": f"extra_{n}",
            "rule_kind": ("verdict", "input", "finding")[n % 3],
            "priority": 20_000 + n,
            "predicate": f'$.row.status == "no {n}" || $.owners.policy > {n + 5}',
            **({"verdict": "covered"}, {"input_state": "ready"}, {"finding_type": "island"})[n % 3],
            "description": "one of many",
        }
        for n in range(200 - len(shipped))
    ]
    chance = random.Random(1)
    texts = [json.dumps(random_facts(chance) | {"number": n}) for n in range(2000)]

    def best() -> float:
        took = []
        for _ in range(3):
            begin = time.monotonic()
            (count,) = one(
                scratch, "SELECT count(*) FROM oneroof.gov_rules_evaluate(%s::text[]::jsonb[], 'working')", (texts,)
            )
            took.append(time.monotonic() - begin)
            assert count == 2000
        return min(took)

    few = best()
    replace(scratch, shipped + more)
    assert best() / few < 1.5 * 200 / len(shipped)
