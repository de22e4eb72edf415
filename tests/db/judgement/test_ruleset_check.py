"""Rules against all that is known: what never matches, always matches or never decides is warned of."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Jsonb

import inventory
import judging
from bed import Ran, as_user, command, connect
from oneroof import yaml_file
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.judgement import ruleset, ruleset_check
from oneroof.judgement.ruleset_check import Check, Checked, Count
from oneroof.people import owners
from oneroof.sources import registration

HEAD = "level,subject,responsibility,owner,valid_from,valid_to\n"
# What was stored of all that was judged.
STORED = """
WITH judged AS (
  SELECT rule_code, input_rule, finding_types FROM oneroof.governance_fact_set
  UNION ALL
  SELECT rule_code, input_rule, finding_types FROM oneroof.governance_object WHERE facts <> '{}')
"""
DECIDED = "SELECT c, count(*) FROM judged CROSS JOIN LATERAL (VALUES (rule_code), (input_rule)) AS v (c) GROUP BY c"
FOUND = "SELECT DISTINCT unnest(finding_types) FROM judged"


def rule(code: str, kind: str, priority: int, predicate: str, **more: Any) -> dict[str, Any]:
    gives = {
        "input": {"input_state": "ready"},
        "verdict": {"verdict": "covered"},
        "finding": {"finding_type": "island"},
    }[kind]
    return {
        "rule_code": code,
        "rule_kind": kind,
        "priority": priority,
        "predicate": predicate,
        "description": "of a test",
        **gives,
        **more,
    }


# Of the rows below, born, draft and retired, by what becomes of each rule.
RULES = [
    rule("ready", "input", 100, "true"),
    rule("retired", "verdict", 100, '$.row.status == "retired"', verdict="retired"),
    rule("misspelt", "verdict", 200, '$.row.statsu == "born"'),
    rule("elsewhere", "verdict", 300, "true", scope={"source": "nowhere"}),
    rule("retired_again", "verdict", 400, '$.row.status == "retired" && $.state.born == true', verdict="retired"),
    rule("trusted", "verdict", 500, "$.state.trusted == true"),
    rule("rest", "verdict", 600, "true", verdict="orphan"),
    rule("find_retired", "finding", 100, "true", scope={"decided": {"verdict": "retired"}}),
    rule("find_all", "finding", 200, "$.state.gone == false"),
    rule("switched_off", "verdict", 700, "false", enabled=False),
]


@pytest.fixture
def known(admin: Connection) -> Connection:
    """Three rows of a source of their own, swept and judged: three fact sets."""
    tailed = inventory.make(admin)
    admin.execute(
        "INSERT INTO src VALUES (1, now(), 'a', 'born'), (2, now(), 'b', 'draft'), (3, now(), 'c', 'retired')"
    )
    inventory.sweep(admin, tailed)
    judging.judge(admin, tailed)
    return admin


@pytest.fixture
def operator(installed_database: str) -> Iterator[Connection]:
    with connect(as_user(installed_database, "requester")) as connection:
        yield connection


def replace(connection: Connection, entries: list[dict[str, Any]]) -> None:
    connection.execute("SELECT oneroof.gov_rules_import(%s)", (Jsonb(entries),))


def write(path: Path, entries: list[dict[str, Any]]) -> Path:
    path.write_text(yaml_file.write(entries, heading="rules"), encoding="utf-8")
    return path


def told(found: Check) -> dict[str, tuple[int, int, int | None, str]]:
    return {each.rule_code: (each.in_scope, each.matches, each.decides, each.word) for each in found.rules}


def test_every_rule_is_counted_and_what_may_be_a_mistake_has_a_word(known: Connection) -> None:
    """In scope, matches, decides; a finding rule decides nothing, and one that is switched off is not asked."""
    replace(known, RULES)
    found = ruleset_check.check(known)
    assert (found.known, found.fact_sets, found.objects, found.is_sample) == (3, 3, 0, False)
    assert told(found) == {
        "ready": (3, 3, 3, ""),
        "retired": (3, 1, 1, ""),
        "misspelt": (3, 0, 0, "never"),
        "elsewhere": (0, 0, 0, "never"),
        "retired_again": (3, 1, 0, "shadowed"),
        "trusted": (3, 3, 2, "always"),
        "rest": (3, 3, 0, "shadowed"),
        "find_retired": (1, 1, None, ""),
        "find_all": (3, 3, None, "always"),
    }
    assert [warning.text for warning in found.warnings] == [
        "rule misspelt never matches: it says no to all 3 known facts in its scope",
        "rule elsewhere never matches: none of the 3 known facts is in its scope",
        "rule retired_again is shadowed: it matches 1 of 3 known facts, and rules before it decide them all",
        "rule trusted always matches: it says yes to all 3 known facts",
        "rule rest is shadowed: it matches 3 of 3 known facts, and rules before it decide them all",
        "rule find_all always matches: it says yes to all 3 known facts",
    ]


def test_a_catch_all_is_meant_to_match_everything(known: Connection) -> None:
    """The last that is asked is what decides the rest, and a net is no mistake where nothing falls into it."""
    born, other = '$.row.status == "born"', '$.row.status != "born"'
    replace(known, [rule("born", "verdict", 1, born), rule("rest", "verdict", 2, "true")])
    assert told(ruleset_check.check(known)) == {"born": (3, 1, 1, ""), "rest": (3, 3, 2, "")}
    replace(known, [rule("a", "verdict", 1, born), rule("b", "verdict", 2, other), rule("rest", "verdict", 3, "true")])
    assert ruleset_check.check(known).warnings == []
    replace(known, [rule("all", "input", 1, "true"), rule("rest", "input", 2, "true")])
    assert [(w.rule_code, w.word) for w in ruleset_check.check(known).warnings] == [
        ("all", "always"),
        ("rest", "shadowed"),
    ]


def test_an_object_with_facts_of_its_own_counts_beside_the_fact_sets(known: Connection, operator: Connection) -> None:
    """A rule that only one object meets is no mistake; the facts are those that it is judged by."""
    asks = [rule("two", "verdict", 1, "$.owners.conflict == true"), rule("rest", "verdict", 2, "true")]
    replace(known, asks)
    assert told(ruleset_check.check(known))["two"] == (3, 0, 0, "never")
    (key,) = one(known, "SELECT candidate_key FROM oneroof.governance_candidate_state WHERE source_key = '1'")
    owners.take(operator, f"{HEAD}object,{key},policy,GOV-SIV,,\nobject,{key},policy,GOV-DOT,,\n".encode(), form="csv")
    judging.judge(known, registration.find(known, "src"))
    found = ruleset_check.check(known)
    assert (found.known, found.fact_sets, found.objects) == (4, 3, 1)
    assert told(found) == {"two": (4, 1, 1, ""), "rest": (4, 4, 3, "")}


@pytest.mark.parametrize("piece", [1, 2, 3, 1000])
def test_pieces_add_up_and_a_sample_says_that_it_is_one(
    known: Connection, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    """However many are read at once; and only where something was left out."""
    replace(known, RULES)
    whole = ruleset_check.check(known)
    monkeypatch.setattr(ruleset_check, "PIECE", piece)
    assert ruleset_check.check(known) == whole
    monkeypatch.setattr(ruleset_check, "MOST", 3)
    assert ruleset_check.check(known) == whole
    monkeypatch.setattr(ruleset_check, "PIECE", 1)
    monkeypatch.setattr(ruleset_check, "MOST", 2)
    found = ruleset_check.check(known)
    assert (found.known, found.is_sample) == (2, True)


def test_counts_are_what_judging_stored(admin: Connection, operator: Connection) -> None:
    """Over the births of an estate, the shipped rules decide and find in the count what they did when they judged."""
    owners.take(operator, f"{HEAD}scope,*,policy,GOV-COUNCIL,,\n".encode(), form="csv")
    births = judging.births(admin)
    judging.sweep(admin, births)
    judging.judge(admin, births)
    found = ruleset_check.check(admin, "active")
    assert found.fact_sets == one(admin, "SELECT count(*) FROM oneroof.governance_fact_set")[0] > 50
    assert found.objects == one(admin, "SELECT count(*) FROM oneroof.governance_object WHERE facts <> '{}'")[0] > 0
    decided: dict[str, int] = dict(admin.execute(STORED + DECIDED).fetchall())
    assert {each.rule_code: each.decides for each in found.rules if each.decides} == decided
    types = {each.rule_code: each.finding_type for each in ruleset.listing(admin, "active")}
    seen = {kind for (kind,) in admin.execute(STORED + FOUND).fetchall()}
    assert {types[each.rule_code] for each in found.rules if each.rule_kind == "finding" and each.matches} == seen
    for each in found.rules:
        assert found.known >= each.in_scope >= each.matches >= (each.decides or 0), each


def test_a_working_copy_is_warned_of_first_where_it_was_edited(known: Connection) -> None:
    """Of the shipped rules many wait for what has not happened yet; an edit is not lost among them."""
    replace(known, [*ruleset.shipped(), rule("zz_mine", "finding", 900_000, '$.row.status == "no such"')])
    found = ruleset_check.check(known)
    assert [each.rule_code for each in found.warnings if not each.is_active] == ["zz_mine"]
    assert found.warnings[0].rule_code == "zz_mine"
    assert len(found.warnings) > 10
    active = ruleset_check.check(known, "active")
    assert "zz_mine" not in told(active)
    assert all(each.is_active for each in active.warnings)


@pytest.mark.parametrize("role", ["reader", "operator", "approver", "console"])
def test_whoever_may_see_rules_may_count(known: Connection, role: str) -> None:
    """And needs no right on the candidates for it."""
    with transaction(known, doing="counting", role=f"oneroof_{role}"):
        assert one(known, "SELECT count(*) FROM oneroof.gov_known_sets(-9223372036854775808, '', 10)") == (3,)
        assert one(known, "SELECT count(*) FROM oneroof.gov_known_objects('', 10)") == (0,)
        assert one(known, "SELECT count(*) > 10 FROM oneroof.gov_rules_count('{}'::jsonb[], NULL)") == (True,)


def test_nothing_known_is_no_warning_and_says_what_helps(installed_database: str, tmp_path: Path) -> None:
    """Before the first run there are no facts, and so no opinion about rules."""
    viewer = as_user(installed_database, "viewer")
    done = command("rules", "check", dsn=viewer)
    assert (done.code, done.err) == (0, "")
    assert "oneroof run --until-idle" in done.out
    found = command("rules", "check", "--json", dsn=viewer).json
    assert (found["known"], found["warnings"]) == (0, [])
    assert {each["word"] for each in found["rules"]} == {""}
    done = command("rules", "import", str(write(tmp_path / "rules.yaml", RULES)), "--json", dsn=viewer)
    assert (done.code, done.json["warnings"], done.err) == (0, [], "")


@pytest.mark.usefixtures("known")
@pytest.mark.newest
def test_the_commands_warn_and_never_refuse(installed_database: str, tmp_path: Path) -> None:
    """On stderr, ten at most and how many there are; all of them in the document."""
    viewer = as_user(installed_database, "viewer")
    file = write(tmp_path / "rules.yaml", RULES)

    def warned(done: Ran) -> list[str]:
        assert done.code == 0, done.err
        return [line.split()[2] for line in done.err.splitlines() if line.startswith("warning: rule ")]

    mistakes = ["misspelt", "elsewhere", "retired_again", "trusted", "rest", "find_all"]
    assert warned(command("rules", "import", str(file), dsn=viewer)) == mistakes
    done = command("rules", "import", str(file), "--json", dsn=viewer)
    assert warned(done) == [each["rule_code"] for each in done.json["warnings"]] == mistakes
    done = command("rules", "activate", "--reason", "a trial", "--json", dsn=viewer)
    assert warned(done) == [each["rule_code"] for each in done.json["warnings"]] == mistakes
    assert done.json["state"] == "pending"

    done = command("rules", "check", dsn=viewer)
    assert (done.code, done.err) == (0, "")
    assert "retired_again" in done.out
    assert "asked about 3 fact sets and 0 single objects; 6 of 9 rules have a warning" in done.out
    found = command("rules", "check", "--json", dsn=viewer).json
    assert {each["rule_code"]: each["word"] for each in found["rules"]}["misspelt"] == "never"
    shipped = command("rules", "check", "--active", "--json", dsn=viewer).json
    assert {each["rule_code"]: each["word"] for each in shipped["rules"]}["input_ready"] == ""

    many = [rule(f"never_{n:02}", "finding", 1000 + n, f'$.row.status == "no {n}"') for n in range(12)]
    done = command("rules", "import", str(write(file, [*RULES, *many])), "--json", dsn=viewer)
    assert len(warned(done)) == 10
    assert "18 warnings in all, 10 shown" in done.err
    assert len(done.json["warnings"]) == 18


@pytest.mark.usefixtures("known")
def test_an_import_does_not_repeat_what_active_rules_wait_for(installed_database: str, tmp_path: Path) -> None:
    """They are counted; but an active rule that the new ones take everything from is named."""
    mine = [
        rule("mine", "input", 50, '$.row.status == "no such"'),
        rule("first", "input", 9_999, "true"),
    ]
    file = write(tmp_path / "rules.yaml", [*ruleset.shipped(), *mine])
    done = command("rules", "import", str(file), "--json", dsn=as_user(installed_database, "viewer"))
    named = [line.split()[2] for line in done.err.splitlines() if line.startswith("warning: rule ")]
    assert named[:3] == ["mine", "first", "input_ready"]
    words = {each["rule_code"]: each["word"] for each in done.json["warnings"]}
    assert (words["mine"], words["first"], words["input_ready"]) == ("never", "always", "shadowed")
    assert (words["gone"], "gone" in named) == ("never", False)
    assert f"{len(words)} warnings in all, {len(named)} shown" in done.err


def test_a_check_that_fails_does_not_undo_an_import(known: Connection, installed_database: str, tmp_path: Path) -> None:
    """The rules are in, and why nothing is said about them is one sentence."""
    readers = "oneroof_reader, oneroof_operator, oneroof_approver"
    known.execute(f"REVOKE EXECUTE ON FUNCTION oneroof.gov_known_sets FROM {readers}")
    file = write(tmp_path / "rules.yaml", RULES)
    done = command("rules", "import", str(file), "--json", dsn=as_user(installed_database, "viewer"))
    assert (done.code, done.json["changed"], done.json["warnings"]) == (0, True, [])
    assert done.err.startswith("warning: ")
    assert "oneroof rules check" in done.err
    assert [each.rule_code for each in ruleset.listing(known)] == sorted_codes()


def sorted_codes() -> list[str]:
    kinds = ("input", "verdict", "finding")
    return [e["rule_code"] for e in sorted(RULES, key=lambda e: (kinds.index(e["rule_kind"]), e["priority"]))]


def test_the_words_do_not_depend_on_more_than_the_counts() -> None:
    """A word is a pure decision: whatever the counts, what has no facts has none, and no match is never."""
    chance = random.Random(31)
    for _ in range(200):
        known = chance.choice((0, 1, 5))
        counts = []
        for n in range(chance.randint(0, 6)):
            in_scope = chance.randint(0, known)
            matched = chance.randint(0, in_scope)
            kind = chance.choice(("input", "verdict", "finding"))
            counts.append(
                Count(f"r{n}", kind, n, in_scope, matched, None if kind == "finding" else chance.randint(0, matched))
            )
        for each in ruleset_check.judge(counts, known=known):
            assert isinstance(each, Checked)
            assert (each.word == "never") == (known > 0 and each.matches == 0)
            assert each.word != "always" or each.matches == known
            assert each.word != "shadowed" or (each.decides == 0 and each.matches > 0)
