"""Owners and exceptions from the shell: files in and out, exit codes, one JSON document, two people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bed import as_user, command, connect
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.estate.owners import owners_file
from oneroof.people import owners
from oneroof.people.owners_file import RESPONSIBILITIES

HEAD = "level,subject,responsibility,owner,valid_from,valid_to\n"
COLLECTION = "customer_records"
OFFICES = ("DIEU-32", "GOV-COUNCIL", "GOV-DOT", "GOV-MOT", "GOV-MOUT", "GOV-SIV")


@pytest.fixture
def operator(installed_database: str) -> Iterator[Connection]:
    with connect(as_user(installed_database, "viewer")) as connection:
        yield connection


def take(connection: Connection, *lines: str) -> None:
    owners.take(connection, (HEAD + "\n".join(lines)).encode(), form="csv")


def table(connection: Connection) -> list[tuple[object, ...]]:
    """Every column of every row that is recorded."""
    return connection.execute("SELECT * FROM oneroof.governance_object_ownership ORDER BY ownership_id").fetchall()


def test_only_operators_import(installed_database: str, operator: Connection, admin: Connection) -> None:
    """A reader may look and not import; a superuser is no person; both exit 3 from the shell and write nothing."""
    take(operator, f"collection,{COLLECTION},policy,GOV-SIV,,")
    before = table(admin)
    admin.execute("DROP ROLE IF EXISTS owners_reader")
    admin.execute("CREATE ROLE owners_reader LOGIN")
    admin.execute("GRANT oneroof_reader TO owners_reader")
    try:
        reader = as_user(installed_database, "owners_reader")
        text = f"{HEAD}collection,{COLLECTION},policy,GOV-DOT,,\n"
        for dsn, said in ((reader, "permission denied"), (installed_database, "no registered person")):
            refused = command("owners", "import", "-", "--format", "csv", dsn=dsn, stdin=text)
            assert refused.code == 3, refused.err
            assert said in refused.err
        shown = command("owners", "list", "--subject", COLLECTION, "--json", dsn=reader)
        assert shown.code == 0, shown.err
        assert [each["owners"] for each in shown.json if each["responsibility"] == "policy"] == [["GOV-SIV"]]
        assert command("owners", "export", "-", "--format", "csv", dsn=reader).out.startswith(HEAD)
        with connect(reader) as connection, pytest.raises(Exception, match="permission denied"):
            connection.execute("INSERT INTO oneroof.governance_office VALUES ('x', 'x', 'x')")
    finally:
        admin.execute("DROP ROLE owners_reader")
    assert table(admin) == before


@pytest.mark.parametrize("suffix", ["csv", "yml"])
def test_what_is_exported_can_be_imported(
    installed_database: str, admin: Connection, tmp_path: Path, suffix: str
) -> None:
    """Importing an export changes nothing; into an empty table it brings back the very same lines."""
    dsn = as_user(installed_database, "viewer")
    key = " odd, \"key\" 'with' everything: #1 * \u00e9\n"
    lines = [
        {"level": "object", "subject": key, "responsibility": "policy", "owner": "GOV-SIV", "line": 1},
        {"level": "scope", "subject": "*", "responsibility": "audit", "owner": "requester", "line": 2},
        {"level": "class", "subject": "c", "responsibility": "audit", "owner": "viewer", "line": 3},
    ]
    lines[1] |= {"valid_from": "2026-01-01T00:00:00.123456Z", "valid_to": "2026-02-01T00:00:00Z"}
    with connect(dsn) as operator:
        operator.execute("SELECT oneroof.gov_ownership_import(%s::jsonb, false, false)", (json.dumps(lines),))
    before = table(admin)
    file = tmp_path / f"owners.{suffix}"
    exported = command("owners", "export", str(file), "--json", dsn=dsn)
    assert (exported.code, exported.json) == (0, {"file": str(file), "exported": 3})
    again = command("owners", "import", str(file), "--replace", dsn=dsn)
    assert (again.code, again.out) == (0, "0 added, 0 changed, 3 unchanged\n"), again.err
    assert table(admin) == before
    with connect(dsn) as operator:
        was = owners.recorded(operator)
        admin.execute("TRUNCATE oneroof.governance_object_ownership")
        anew = command("owners", "import", str(file), "--json", dsn=dsn)
        assert anew.json == {"added": 3, "changed": 0, "unchanged": 0, "ended": 0, "dry_run": False}
        assert owners.recorded(operator) == was
    assert command("owners", "export", str(file), dsn=dsn).code == 2, "an export never overwrites"


def test_stdin_and_stdout_need_the_format(installed_database: str) -> None:
    """And with --json stdout is a document, so the file goes elsewhere."""
    dsn = as_user(installed_database, "viewer")
    for words in (["import", "-"], ["export", "-"], ["export", "owners.txt"], ["import", "-", "--format", "xml"]):
        ran = command("owners", *words, dsn=dsn, stdin=HEAD)
        assert ran.code == 2, words
        assert "format" in ran.err
    assert command("owners", "export", "-", "--format", "csv", "--json", dsn=dsn).code == 2
    assert command("owners", "import", "/nowhere/owners.csv", dsn=dsn).code == 2
    piped = command("owners", "export", "-", "--format", "yaml", dsn=dsn)
    assert (piped.code, piped.out) == (0, "[]\n")
    assert command("owners", "import", "-", "--format", "yaml", dsn=dsn, stdin=piped.out).code == 0


def test_wrong_lines_from_the_shell_exit_2(installed_database: str, tmp_path: Path) -> None:
    """The sentence names the line, and a line below says what helps."""
    file = tmp_path / "owners.csv"
    file.write_text(f"{HEAD}collection,c,policy,nobody,,\n", encoding="utf-8")
    ran = command("owners", "import", str(file), dsn=as_user(installed_database, "viewer"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        "oneroof: 1 line is wrong, and nothing was imported:",
        '  line 2: "nobody" is neither a registered person nor an office',
        f"  try: owners are people (oneroof person list) or offices: {', '.join(OFFICES)}",
    ]


def test_the_estates_owners_have_a_conflict_a_gap_and_leave_a_third_alone(
    installed_database: str, operator: Connection, admin: Connection
) -> None:
    """The same file each time, valid, and as the list shows it."""
    text = owners_file(admin)
    assert text == owners_file(admin)
    done = owners.take(operator, text.encode(), form="csv")
    assert done.added == len(text.splitlines()) - 1
    (collections,) = one(admin, "SELECT count(*) FROM collection_registry")
    (owned,) = one(admin, "SELECT count(DISTINCT subject) FROM oneroof.governance_object_ownership")
    assert 0.6 < owned / collections < 0.7
    rows = owners.listing(operator)
    assert [(row.responsibility, len(row.owners)) for row in rows if row.is_conflict] == [("policy", 2)]
    held: dict[str, int] = {}
    for row in rows:
        held[row.subject] = held.get(row.subject, 0) + (row.level is not None)
    assert sorted(set(held.values())) == [0, 2, len(RESPONSIBILITIES)]
    assert list(held.values()).count(2) == 1
    conflict = next(row.subject for row in rows if row.is_conflict)
    shown = command("owners", "list", dsn=installed_database)
    assert shown.code == 0, shown.err
    assert "GOV-COUNCIL ≠ GOV-SIV (collection)" in next(
        line for line in shown.out.splitlines() if f" {conflict} " in line
    )
    assert f"{len(held)} subjects: 1 with a conflict, {sum(n < 6 for n in held.values())} with a gap" in shown.err
    assert len(command("owners", "list", "--json", dsn=installed_database).json) == len(rows)


def test_one_object_is_listed_by_its_key(installed_database: str, operator: Connection, admin: Connection) -> None:
    """Where no collection has that name; nobody at all is said so."""
    admin.execute(
        "INSERT INTO oneroof.governance_candidate_state"
        " (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, facts_hash)"
        " VALUES ('c:1', 'none', 'birth_registry/c/born', 'birth_registry', '1', '1', 0)"
    )
    take(operator, "object,c:1,policy,GOV-SIV,,", "object,c:1,policy,GOV-DOT,,")
    found = command("owners", "list", "--subject", "c:1", "--json", dsn=installed_database).json
    assert [(each["owners"], each["level"], each["is_conflict"]) for each in found] == [
        (["GOV-DOT", "GOV-SIV"], "object", True)
    ]
    none = command("owners", "list", "--subject", "c:2", dsn=installed_database)
    assert (none.code, none.out) == (0, "no owners\n")


def test_two_people_make_an_exception_and_one_takes_it_back(installed_database: str) -> None:
    """add → request → approved by another → ratified; the requester cannot; a wrong word is exit 2."""
    asking, deciding = (as_user(installed_database, user) for user in ("viewer", "approver"))
    words = ["exceptions", "add", "collection", COLLECTION, "--reason", "moves in May", "--until", "2999-01-31"]
    added = command(*words, "--json", dsn=asking)
    assert added.code == 0, added.err
    assert (added.json["state"], added.json["valid_to"][:10]) == ("unratified", "2999-01-31")
    number, request = str(added.json["exception_id"]), str(added.json["request_id"])
    assert command("approvals", "approve", request, dsn=asking).code == 3
    assert command("approvals", "approve", request, dsn=deciding).code == 0
    (shown,) = command("exceptions", "list", "--json", dsn=asking).json
    assert (shown["state"], shown["ratified_by"]) == ("ratified", "approver")
    assert command(*words, dsn=asking).code == 3, "it has one"
    assert "moves in May" in command("exceptions", "list", dsn=asking).out
    assert command("exceptions", "revoke", number, "--json", dsn=asking).json["changed"] is True
    assert command("exceptions", "list", dsn=asking).out == "no exceptions\n"
    assert command("exceptions", "list", "--all", "--json", dsn=asking).json[0]["state"] == "revoked"
    for wrong in (
        ["galaxy", "x", "--reason", "y"],
        ["object", "x", "--reason", "y", "--until", "tomorrow"],
        ["object", "x", "--reason", "y", "--until", "2001-01-01"],
        ["object", "x"],
    ):
        assert command("exceptions", "add", *wrong, dsn=asking).code == 2, wrong
    assert command("exceptions", "revoke", "999", dsn=asking).code == 3
