"""Rulesets: content and hash, import and export, and activation under four eyes (doc 31 §5, promise 21)."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from bed import SETTINGS, as_user, command, connect, eventually
from oneroof import yaml_file
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import Refused, Usage
from oneroof.install import migrate, script
from oneroof.judgement import ruleset
from oneroof.people import requests

FINE: dict[str, Any] = {
    "rule_code": "mine",
    "rule_kind": "verdict",
    "priority": 1,
    "predicate": '$.class == "orders"',
    "verdict": "covered",
    "description": "orders are fine",
}


class Logins:
    """A connection per login, made when it is first asked for."""

    def __init__(self, dsn: str, stack: ExitStack) -> None:
        self.dsn, self._stack, self._made = dsn, stack, dict[str, Connection]()

    def __getitem__(self, user: str) -> Connection:
        if user not in self._made:
            self._made[user] = self._stack.enter_context(connect(as_user(self.dsn, user)))
        return self._made[user]


@pytest.fixture
def logins(installed_database: str) -> Iterator[Logins]:
    with ExitStack() as stack:
        yield Logins(installed_database, stack)


@pytest.fixture
def admin(logins: Logins) -> Connection:
    return logins["postgres"]


def version(connection: Connection) -> str:
    return str(one(connection, "SELECT oneroof.gov_ruleset_version()")[0])


def active(connection: Connection) -> str:
    return str(one(connection, "SELECT oneroof.gov_ruleset_active()")[0])


def audit(connection: Connection) -> list[tuple[str, str]]:
    return connection.execute(
        "SELECT entity_code, action FROM registry_changelog WHERE entity_type IN ('oneroof.rules', 'oneroof.ruleset')"
        " ORDER BY id"
    ).fetchall()


def write(path: Path, entries: list[dict[str, Any]]) -> Path:
    path.write_text(yaml_file.write(entries, heading="rules"), encoding="utf-8")
    return path


def shipped_with(**changes: dict[str, Any]) -> list[dict[str, Any]]:
    """The shipped rules with some fields of some rules changed."""
    return [entry | changes.get(entry["rule_code"], {}) for entry in ruleset.shipped()]


def test_an_installation_plants_the_file_letter_for_letter(admin: Connection) -> None:
    """The file is the only source: exporting the working copy gives its bytes, and it is what is active."""
    assert ruleset.export(admin) == ruleset.shipped_text()
    assert ruleset.listing(admin, "active") == ruleset.listing(admin)
    assert active(admin) == version(admin)
    (by, request, retired) = one(admin, "SELECT activated_by, request_id, retired_at FROM oneroof.governance_ruleset")
    assert (by, request, retired) == ("postgres", None, None)
    assert audit(admin) == []
    found = ruleset.difference(admin)
    assert (found.changes, found.detectors_added, found.detectors_removed) == ([], 0, 0)
    assert (found.axes_added, found.axes_removed) == (0, 0)


def test_an_upgrade_leaves_the_rules_of_the_host_alone(admin: Connection, logins: Logins, tmp_path: Path) -> None:
    """What the host edited and what it activated stay; a file without rules is no working copy."""
    before = active(admin)
    with pytest.raises(Usage, match="there are no rules"):
        ruleset.import_file(logins["viewer"], write(tmp_path / "empty.yaml", []))
    ruleset.import_file(logins["viewer"], write(tmp_path / "one.yaml", [FINE]))
    migrate.upgrade(admin, settings=SETTINGS)
    assert [rule.rule_code for rule in ruleset.listing(admin)] == ["mine"]
    assert active(admin) == before
    assert "gov_rules_plant" in script.print_install(SETTINGS)


def test_the_version_is_the_hash_of_the_content_and_of_nothing_else(admin: Connection) -> None:
    """Not of the order of rows, the layout of a predicate, the session's settings or when a detector was written."""
    first = version(admin)
    entries = ruleset.shipped()
    for seed in range(3):
        random.Random(seed).shuffle(entries)
        admin.execute("SELECT oneroof.gov_rules_import(%s)", (Jsonb(entries),))
        assert version(admin) == first
    spaced = [entry | {"predicate": f"  {entry['predicate']}  "} for entry in entries]
    assert one(admin, "SELECT oneroof.gov_rules_import(%s)", (Jsonb(spaced),)) == (False,)
    for setting in ("TimeZone = 'Asia/Kathmandu'", "IntervalStyle = 'iso_8601'", "extra_float_digits = -5"):
        admin.execute(f"SET {setting}")
        assert version(admin) == first
    admin.execute("UPDATE measurement_registry SET updated_at = now()")
    admin.execute("UPDATE measurement_registry SET name = 'other' WHERE NOT enabled")
    assert version(admin) == first
    (recomputed,) = one(
        admin, "SELECT encode(sha256(convert_to(content::text, 'UTF8')), 'hex') FROM oneroof.governance_ruleset"
    )
    assert recomputed == first


@pytest.mark.parametrize(
    "changed",
    [
        {"priority": 1701},
        {"predicate": "$.owners.policy > 1"},
        {"scope": {"class": "orders"}},
        {"stale_after": "91 days"},
        {"description": "other words"},
        {"verdict": "class_0"},
        {"enabled": False},
        {"rule_code": "owned_by_somebody"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_any_change_of_an_enabled_rule_changes_the_version(admin: Connection, changed: dict[str, Any]) -> None:
    """And changing it back brings the version back."""
    first = version(admin)
    admin.execute("SELECT oneroof.gov_rules_import(%s)", (Jsonb(shipped_with(owned=changed)),))
    assert version(admin) != first
    admin.execute("SELECT oneroof.gov_rules_import(%s)", (Jsonb(ruleset.shipped()),))
    assert version(admin) == first


def test_a_detector_of_the_host_is_part_of_the_version(admin: Connection) -> None:
    """Switching one on or changing one is a new version, which the difference says, and which can be activated."""
    admin.execute("UPDATE measurement_registry SET enabled = true WHERE measurement_id = 'MSR-071'")
    admin.execute("UPDATE measurement_registry SET threshold = 99 WHERE measurement_id = 'MSR-001'")
    found = ruleset.difference(admin)
    assert found.working_version != found.active_version
    assert (found.changes, found.detectors_added, found.detectors_removed) == ([], 2, 1)


def test_an_axis_of_the_host_is_part_of_the_version(admin: Connection, installed_database: str) -> None:
    """Doc 31 §5; when a row was written is not."""
    first = version(admin)
    admin.execute("UPDATE pivot_definitions SET updated_at = now()")
    assert version(admin) == first
    admin.execute("UPDATE pivot_definitions SET group_spec = '{}' WHERE code = 'PVT-001'")
    admin.execute("INSERT INTO pivot_definitions (code, name, group_spec) VALUES ('PVT-900', 'new', '{}')")
    assert version(admin) != first
    found = ruleset.difference(admin)
    assert (found.detectors_added, found.axes_added, found.axes_removed) == (0, 2, 1)
    assert "pivot_definitions" in command("rules", "diff", dsn=installed_database).out


def test_a_disabled_rule_is_in_the_file_and_not_in_the_version(admin: Connection, tmp_path: Path) -> None:
    """It is kept for later and judges nothing."""
    first = version(admin)
    path = write(tmp_path / "rules.yaml", [*ruleset.shipped(), FINE | {"enabled": False}])
    assert ruleset.import_file(admin, path) is True
    assert version(admin) == first
    assert "enabled: false" in ruleset.export(admin)


def test_export_and_import_round_trip_byte_for_byte(logins: Logins, admin: Connection, tmp_path: Path) -> None:
    """Odd characters, nested scopes and disabled rules too; the second import changes nothing, nor the audit."""
    odd = FINE | {
        "scope": {"row": {"status": 'it\'s "odd" đ\n'}, "n": [1, None]},
        "predicate": '$.row.status like_regex "^a\'b$" flag "i"',
        "description": 'Điều 31: it\'s "quoted"\tand odd',
        "stale_after": "1 mon 2 days 03:04:05",
        "enabled": False,
    }
    path = write(tmp_path / "first.yaml", [*ruleset.shipped(), odd])
    assert ruleset.import_file(logins["viewer"], path) is True
    text = ruleset.export(admin)
    again = tmp_path / "again.yaml"
    again.write_text(text, encoding="utf-8")
    assert ruleset.import_file(logins["viewer"], again) is False
    assert ruleset.export(admin) == text
    assert [action for _, action in audit(admin)] == ["import 57 rules by viewer"]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"predicate": "$.a =="}, "rule mine: the predicate does not parse: .*syntax error"),
        ({"predicate": "'; DROP TABLE oneroof.governance_rule; --"}, "the predicate does not parse"),
        ({"predicate": '$.a like_regex "("'}, "the predicate does not parse"),
        ({"predicate": "$.row.status"}, 'not a yes-or-no question: of ordinary facts it answers "born"'),
        ({"predicate": "$.collection.coverage_exemption_reason"}, "not a yes-or-no question"),
        ({"predicate": "$.owners.policy + 1"}, "not a yes-or-no question: of ordinary facts it answers 2"),
        ({"predicate": "$.nothing"}, "answers nothing"),
        ({"predicate": "$.owners.*"}, r"not a yes-or-no question: .*\["),
        ({"predicate": "$.a == 1 && $.b == $x"}, "names a variable"),
        ({"predicate": '$.a == 1 && $.b.datetime() < "2026-01-01".datetime()'}, "reads a time"),
        ({"predicate": "(" * 100_000}, "the predicate is longer than 4000 characters"),
        ({"predicate": "$.a == 1" + " || $.a == 1" * 330}, "this must hold: .*4000"),
        ({"predicate": None}, "predicate is missing"),
        ({"predicate": 7}, "the predicate is not a yes-or-no question: of ordinary facts it answers 7"),
        ({"verdict": "fine"}, "this must hold: .*'covered'.*'undecided'"),
        ({"verdict": None}, "this must hold: .*verdict IS NOT NULL"),
        ({"verdict": "undecided"}, "this must hold: .*undecided_reason IS NOT NULL"),
        ({"undecided_reason": "retry"}, "this must hold: .*undecided_reason IS NOT NULL"),
        ({"input_state": "ready"}, "this must hold: .*input_state IS NOT NULL"),
        ({"severity": "high"}, "this must hold: .*severity IS NULL"),
        ({"stale_after": "-1 day"}, "this must hold: .*stale_after >"),
        ({"stale_after": "soon"}, "invalid input syntax for type interval"),
        ({"rule_kind": "finding", "verdict": None, "finding_type": "nonsense"}, "there is no finding type 'nonsense'"),
        ({"rule_kind": "opinion"}, "this must hold: .*'input'.*'verdict'.*'finding'"),
        ({"rule_code": "Not a code"}, "rule Not a code: this must hold: .*rule_code"),
        ({"rule_code": None}, "rule_code is missing|null value"),
        ({"rule_code": "owned"}, "rule owned: there are two rules of this code"),
        ({"priority": 1700}, "rule mine: priority 1700 is also that of owned"),
        ({"priority": "high"}, "invalid input syntax for type bigint"),
        ({"priority": -1}, "this must hold: .*priority >= 0"),
        ({"scope": [1]}, "this must hold: .*jsonb_typeof"),
        ({"description": ""}, "this must hold: .*description"),
        ({"colour": "red"}, "rule mine: a rule has no colour"),
    ],
    ids=lambda value: None if isinstance(value, str) else "-".join(f"{k}={v}"[:40] for k, v in value.items()),
)
def test_a_wrong_rule_is_one_sentence_and_nothing_is_imported(
    logins: Logins, admin: Connection, tmp_path: Path, wrong: dict[str, Any], sentence: str
) -> None:
    """It names the file and the rule; the rules beside it are not imported either."""
    before = ruleset.export(admin)
    path = write(tmp_path / "mine.yaml", [*ruleset.shipped(), FINE | wrong])
    with pytest.raises(Usage, match=sentence) as refused:
        ruleset.import_file(logins["viewer"], path)
    assert str(refused.value).startswith(f"{path}: rule ")
    assert "\n" not in str(refused.value)
    assert ruleset.export(admin) == before


def test_the_database_refuses_what_no_file_went_through(admin: Connection) -> None:
    """Unknown fields and things that are no rules; and nobody writes the tables but through the function."""
    wrong: list[Any] = [FINE | {"colour": 1}, 5, "x", []]
    for entry in wrong:
        with pytest.raises(psycopg.DataError):
            admin.execute("SELECT oneroof.gov_rules_import(%s)", (Jsonb([entry]),))
    for whole in ("NULL", "'{}'", "'null'"):
        with pytest.raises(psycopg.DataError, match="rules are an array"):
            admin.execute(f"SELECT oneroof.gov_rules_import({whole}::jsonb)")
    for table in ("governance_rule", "governance_ruleset", "governance_ruleset_rule"):
        rows = admin.execute(
            "SELECT rolname FROM pg_roles WHERE rolname LIKE 'oneroof%%' AND rolname <> 'oneroof_owner'"
            " AND has_table_privilege(oid, %s, 'INSERT, UPDATE, DELETE, TRUNCATE')",
            (f"oneroof.{table}",),
        ).fetchall()
        assert rows == []


def test_finding_rules_may_share_a_priority(admin: Connection, tmp_path: Path) -> None:
    """All that match count, so their order decides nothing; a disabled rule is in nobody's way either."""
    finding = {"rule_kind": "finding", "verdict": None, "finding_type": "island", "priority": 100}
    path = write(tmp_path / "mine.yaml", [*ruleset.shipped(), FINE | finding])
    assert ruleset.import_file(admin, path) is True
    path = write(tmp_path / "other.yaml", [*ruleset.shipped(), FINE | {"priority": 1700, "enabled": False}])
    assert ruleset.import_file(admin, path) is True


def test_the_difference_names_every_field(admin: Connection) -> None:
    """Added, removed (or switched off) and changed, each field with both values."""
    entries = shipped_with(owned={"priority": 1750, "stale_after": "1 day"}, unborn={"enabled": False})
    entries = [entry for entry in entries if entry["rule_code"] != "find_island"]
    admin.execute("SELECT oneroof.gov_rules_import(%s)", (Jsonb([*entries, FINE]),))
    found = ruleset.difference(admin)
    assert [(c.rule_code, c.change, c.field) for c in found.changes] == [
        ("find_island", "removed", None),
        ("mine", "added", None),
        ("owned", "changed", "priority"),
        ("owned", "changed", "stale_after"),
        ("unborn", "removed", None),
    ]
    assert [(c.active, c.working) for c in found.changes if c.field] == [(1700, 1750), ("90 days", "1 day")]


def propose(logins: Logins, **changes: dict[str, Any]) -> int:
    """Edit as viewer and ask as requester; the number of the request."""
    logins["postgres"].execute("SELECT oneroof.gov_rules_import(%s)", (Jsonb(shipped_with(**changes)),))
    return ruleset.request_activation(logins["requester"], reason="because")


def test_another_person_activates_and_only_then_it_judges(logins: Logins, admin: Connection) -> None:
    """The old ruleset is retired and kept whole; exactly one is active; the verdicts differ from then on."""
    first = active(admin)
    request = propose(logins, owned={"verdict": "class_0"})
    assert not requests.find(logins["approver"], request).is_edited
    facts = [ruleset.example(admin)]
    assert ruleset.evaluate(admin, facts, which="active")[0].verdict == "covered"
    assert ruleset.evaluate(admin, facts)[0].verdict == "class_0"
    requests.decide(logins["approver"], request, "approved")
    assert ruleset.evaluate(admin, facts, which="active")[0].verdict == "class_0"
    assert active(admin) == version(admin) != first
    rows = admin.execute(
        "SELECT ruleset_version, activated_by, request_id, retired_at IS NULL FROM oneroof.governance_ruleset"
        " ORDER BY created_at"
    ).fetchall()
    assert rows == [(first, "postgres", None, False), (version(admin), "approver", request, True)]
    assert audit(admin)[-1] == (version(admin), "activate")
    with pytest.raises(Refused, match="active already"):
        ruleset.request_activation(logins["requester"], reason="again")


def test_going_back_is_an_activation_like_any_other(logins: Logins, admin: Connection) -> None:
    """The content is the version: the rules of an earlier one are that version again, under two people again."""
    first = active(admin)
    requests.decide(logins["approver"], propose(logins, owned={"verdict": "class_0"}), "approved")
    second = active(admin)
    request = propose(logins)
    requests.decide(logins["approver"], request, "approved")
    assert active(admin) == first
    rows: dict[str, Any] = dict(
        admin.execute("SELECT ruleset_version, retired_at IS NULL FROM oneroof.governance_ruleset").fetchall()
    )
    assert rows == {first: True, second: False}
    assert ruleset.listing(admin, "active") == ruleset.listing(admin)


@pytest.mark.parametrize(
    ("who", "why"),
    [
        ("requester", "who cannot also approve it"),
        ("requester_alt", "the same person"),
        ("viewer", "permission denied|is not approver"),
        ("postgres", "no registered person"),
    ],
)
def test_nobody_activates_alone(logins: Logins, admin: Connection, who: str, why: str) -> None:
    """Neither the requester under another login, nor who may not approve, nor a superuser."""
    first = active(admin)
    request = propose(logins, owned={"verdict": "class_0"})
    with pytest.raises(Refused, match=why):
        requests.decide(logins[who], request, "approved")
    assert active(admin) == first


@pytest.mark.parametrize("edit", ["rules", "detector", "request"])
def test_an_edit_after_the_request_voids_it(logins: Logins, admin: Connection, edit: str) -> None:
    """Of the rules, of a detector of the host, or of the request's own row: it stays on record as void."""
    first = active(admin)
    request = propose(logins, owned={"verdict": "class_0"})
    match edit:
        case "rules":
            admin.execute("SELECT oneroof.gov_rules_import(%s)", (Jsonb(shipped_with(owned={"verdict": "orphan"})),))
        case "detector":
            admin.execute("UPDATE measurement_registry SET enabled = false WHERE measurement_id = 'MSR-001'")
        case _:
            admin.execute("UPDATE approval_requests SET reason = 'other' WHERE id = %s", (request,))
    assert requests.find(logins["approver"], request).is_edited
    with pytest.raises(Refused, match="now void"):
        requests.decide(logins["approver"], request, "approved")
    assert requests.find(admin, request).state == "void"
    assert active(admin) == first
    again = ruleset.request_activation(logins["requester"], reason="because")
    assert again != request
    requests.decide(logins["approver"], again, "approved")
    assert active(admin) == version(admin)


def test_an_edit_that_is_under_way_is_waited_for_and_seen(logins: Logins, admin: Connection) -> None:
    """An approval that meets an import waits for it, and is then void."""
    request = propose(logins, owned={"verdict": "class_0"})
    said: list[str] = []

    def decide() -> None:
        try:
            requests.decide(logins["approver"], request, "approved")
        except Refused as refused:
            said.append(str(refused))

    deciding = threading.Thread(target=decide)
    with connect(logins.dsn) as other, other.transaction():
        other.execute("SELECT oneroof.gov_rules_import(%s)", (Jsonb(shipped_with(owned={"verdict": "orphan"})),))
        deciding.start()
        blocked = "SELECT FROM pg_locks WHERE relation = 'oneroof.governance_rule'::regclass AND NOT granted"
        eventually(lambda: admin.execute(blocked).fetchone() is not None, what="the approval to wait")
    deciding.join()
    assert len(said) == 1
    assert "now void" in said[0]


@pytest.mark.parametrize(
    "content",
    [{"ruleset_version": "0" * 64}, {}, {"ruleset_version": None}, {"value": "true"}],
    ids=["other", "empty", "null", "gate"],
)
def test_a_request_names_the_rules_as_they_are(logins: Logins, content: dict[str, Any]) -> None:
    """Nobody asks for a version that is not there."""
    with pytest.raises(Refused, match="by the hash of the rules as they are now"):
        requests.request(
            logins["requester"], kind=ruleset.KIND, subject=ruleset.SUBJECT, content=content, reason="because"
        )


def test_what_must_be_judged_anew_is_the_scope_of_what_changed(logins: Logins, admin: Connection) -> None:
    """The scopes that a changed rule had and has; a changed description is no reason."""
    first = active(admin)
    changes: dict[str, dict[str, Any]] = {
        "input_role_invalid": {"scope": {"source": "other"}},
        "unborn": {"description": "other words"},
    }
    requests.decide(logins["approver"], propose(logins, **changes), "approved")
    rows = admin.execute("SELECT * FROM oneroof.gov_ruleset_changed(%s, %s)", (first, active(admin))).fetchall()
    scopes = [{"source": "birth_registry"}, {"source": "other"}]
    assert sorted(rows, key=str) == [("input_role_invalid", scope) for scope in scopes]


def test_the_tables_hold_no_nonsense(admin: Connection) -> None:
    """Two active rulesets, or one whose version is not its hash, cannot be stored, whoever tries."""
    with pytest.raises(psycopg.errors.CheckViolation):
        admin.execute("UPDATE oneroof.governance_ruleset SET content = '{}'")
    insert = """INSERT INTO oneroof.governance_ruleset
          (ruleset_version, content, content_sha256, created_at, activated_at, activated_by)
        SELECT h, '{}', h, now(), now(), 'x' FROM encode(sha256('{}'), 'hex') AS h"""
    with pytest.raises(psycopg.errors.UniqueViolation, match="governance_ruleset_active"):
        admin.execute(insert)


@pytest.mark.newest
def test_the_whole_way_from_the_shell(installed_database: str, tmp_path: Path) -> None:
    """export, edit, import, diff, test, activate, approve; each as JSON too, and exit codes as promised."""
    viewer, approver = as_user(installed_database, "viewer"), as_user(installed_database, "approver")
    file, cases = tmp_path / "rules.yaml", Path(__file__).with_name("default_cases.yaml")
    done = command("rules", "export", str(file), "--json", dsn=viewer)
    assert (done.code, done.json) == (0, {"file": str(file), "rules": 56})
    assert file.read_text(encoding="utf-8") == ruleset.shipped_text()
    assert command("rules", "export", str(file), dsn=viewer).code == 2
    assert command("rules", "test", str(cases), "--active", dsn=viewer).out == "all 52 cases are as expected\n"
    assert "is the active ruleset" in command("rules", "diff", dsn=viewer).out
    assert command("rules", "activate", "--reason", "x", dsn=viewer).code == 3

    file.write_text(file.read_text(encoding="utf-8").replace("stale_after: 90 days", "stale_after: 60 days"))
    done = command("rules", "import", str(file), "--json", dsn=viewer)
    assert (done.code, done.json["changed"]) == (0, True), done.err
    assert "as it had before" in command("rules", "import", str(file), dsn=viewer).out
    found = command("rules", "diff", "--json", dsn=viewer).json
    assert [(c["rule_code"], c["field"], c["active"], c["working"]) for c in found["changes"]] == [
        ("owned", "stale_after", "90 days", "60 days")
    ]
    asked = command("rules", "activate", "--reason", "sooner", "--json", dsn=viewer)
    assert asked.json["content"] == {"ruleset_version": found["working_version"]}
    number = str(asked.json["request_id"])
    assert command("approvals", "approve", number, dsn=viewer).code == 3
    assert command("approvals", "approve", number, dsn=approver).code == 0
    listed = command("rules", "list", "--active", "--json", dsn=viewer).json
    assert next(rule["stale_after"] for rule in listed if rule["rule_code"] == "owned") == "60 days"
    assert "undecided: awaiting_ownership" in command("rules", "list", dsn=viewer).out


@pytest.mark.newest
def test_cases_that_come_out_otherwise_are_exit_1(installed_database: str, tmp_path: Path) -> None:
    """Each difference is printed; a file that is no file of cases is wrong usage."""
    file = tmp_path / "cases.json"
    file.write_text(
        '{"cases": [{"case": "mine", "facts": {"owners": {"policy": 0}}, "verdict": "covered", "findings": []}]}'
    )
    done = command("rules", "test", str(file), "--json", dsn=installed_database)
    assert done.code == 1
    assert [(d["what"], d["expected"], d["found"]) for d in done.json["differences"]] == [
        ("verdict", "covered", "orphan"),
        ("findings", [], ["governance_orphan", "owner_gap"]),
    ]
    assert "orphan" in command("rules", "test", str(file), dsn=installed_database).out
    for text in (
        "cases:\n",
        "cases:\n  - case: x\n",
        "cases:\n  - verdct: covered\n",
        "cases:\n  - facts: []\n    rule: x\n",
    ):
        file.write_text(text)
        assert command("rules", "test", str(file), dsn=installed_database).code == 2, text
    assert command("rules", "test", str(tmp_path / "none"), dsn=installed_database).code == 2


@pytest.mark.newest
def test_a_bad_file_from_the_shell_is_exit_2_and_one_sentence(installed_database: str, tmp_path: Path) -> None:
    """It names the file and the rule, and what helps; a login that may not edit is refused."""
    file = write(tmp_path / "bad.yaml", [FINE | {"predicate": "$.a =="}])
    done = command("rules", "import", str(file), dsn=as_user(installed_database, "viewer"))
    assert done.code == 2
    assert f"{file}: rule mine: the predicate does not parse" in done.err
    assert len(done.err.splitlines()) == 2
    write(file, [FINE, FINE | {"rule_code": "other"}])
    done = command("rules", "import", str(file), "--json", dsn=as_user(installed_database, "viewer"))
    assert (done.code, done.json["exit_code"]) == (2, 2)
    assert "rule other: priority 1 is also that of mine" in done.json["error"]
    file.write_bytes(b"rules:\n  - rule_code: \xff\n")
    assert command("rules", "import", str(file), dsn=installed_database).code == 2
    with connect(installed_database) as connection:
        connection.execute("CREATE ROLE stranger_rules LOGIN; GRANT oneroof_reader TO stranger_rules")
        write(file, [FINE])
        try:
            assert command("rules", "import", str(file), dsn=as_user(installed_database, "stranger_rules")).code == 3
        finally:
            connection.execute("DROP ROLE stranger_rules")
