"""oneroof's own rules, gates, workers and sources as governed objects, each kind in a scope of its own, if it is asked
for; and nothing changes for the host.
"""

from __future__ import annotations

from typing import Any

import pytest

from bed import as_user, command, silent
from logins import sign_in
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.proof import prove
from oneroof.runtime import admission
from oneroof.sources import own_objects, registration

OWNERS = "level,subject,responsibility,owner,valid_from,valid_to\nscope,*,policy,GOV-COUNCIL,,\n"
BOOKS = "SELECT to_jsonb(b) FROM oneroof.v_governance_books AS b ORDER BY b.source_name"
VERSIONS = """SELECT candidate_key, verdict, xmin::text FROM oneroof.governance_candidate_state
              WHERE source_name LIKE 'governance\\_%' ORDER BY 1"""
WRITTEN = "SELECT coalesce(sum(attempts_written), 0)::int FROM oneroof.gov_worker_cursor"
NAMES = [each.table for each in own_objects.OBJECTS]


@pytest.fixture
def running(admin: Connection, installed_database: str, tmp_path: Any) -> str:
    """An estate whose objects all have somebody who answers for them, swept and judged."""
    file = tmp_path / "owners.csv"
    file.write_text(OWNERS)
    with sign_in(installed_database) as logins:
        logins.open_gate(admission.GATE)
    who = as_user(installed_database, "requester")
    assert command("owners", "import", str(file), dsn=who).code == 0
    run(installed_database)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_candidate_state WHERE dirty") == (0,)
    return installed_database


def run(dsn: str) -> None:
    assert command("run", "--until-idle", dsn=dsn).code == 0


def books(admin: Connection) -> dict[str, dict[str, Any]]:
    return {book["source_name"]: book for (book,) in admin.execute(BOOKS)}


def test_own_objects_have_books_of_their_own_and_the_hosts_do_not_change(admin: Connection, running: str) -> None:
    """Added by one command, judged, complete, and still: a run after it writes nothing."""
    before = books(admin)
    assert set(before).isdisjoint(NAMES), "nothing of ours is counted unless it is asked for"
    added = command("source", "add", "--own", "--json", dsn=running)
    assert (added.code, [each["source_name"] for each in added.json]) == (0, NAMES)
    run(running)
    after = books(admin)
    assert {name: after[name] for name in before} == before
    for name in NAMES:
        (rows,) = one(admin, f"SELECT count(*) FROM oneroof.{name}")
        assert (after[name]["total"], after[name]["covered"]) == (rows, rows), name
    scopes = {each.name: each for each in prove.prove(admin, deep=True, progress=silent).scopes}
    assert {name: (scopes[name].is_balanced, scopes[name].is_complete) for name in NAMES} == dict.fromkeys(
        NAMES, (True, True)
    )
    versions, written = admin.execute(VERSIONS).fetchall(), one(admin, WRITTEN)
    run(running)
    assert (admin.execute(VERSIONS).fetchall(), one(admin, WRITTEN)) == (versions, written)
    assert books(admin) == after


def test_what_people_do_to_a_rule_a_gate_or_a_worker_is_a_change_like_any_other(
    admin: Connection, running: str
) -> None:
    """A rule that is switched off is one; a pause of a worker is none, since nobody is asked about it."""
    command("source", "add", "--own", dsn=running)
    run(running)
    versions = dict(tuple(row[::2]) for row in admin.execute(VERSIONS))
    admin.execute("UPDATE oneroof.governance_rule SET enabled = false WHERE rule_code = 'find_island'")
    operator = as_user(running, "requester")
    assert command("pause", "candidate_scan", dsn=operator).code == 0
    assert command("resume", "candidate_scan", dsn=operator).code == 0
    run(running)
    changed = {key for key, version in (tuple(row[::2]) for row in admin.execute(VERSIONS)) if versions[key] != version}
    assert changed == {"governance_rule:find_island"}


def test_own_objects_are_removed_again(admin: Connection, running: str) -> None:
    """They are retired like any other's, and what they were read with stays ours."""
    before = books(admin)
    command("source", "add", "--own", dsn=running)
    run(running)
    rights = "SELECT relacl::text FROM pg_class WHERE relname = 'governance_gate'"
    acl = one(admin, rights)
    for name in NAMES:
        assert command("source", "remove", name, "--retire", dsn=running).code == 0
    assert one(admin, rights) == acl
    run(running)
    after = books(admin)
    assert {name: after[name] for name in before} == before
    assert {after[name]["total"] - after[name]["retired"] for name in NAMES} == {0}
    found = prove.prove(admin, deep=True, progress=silent)
    assert all(each.is_complete for each in found.scopes if each.name in NAMES)
    assert NAMES[0] not in {each.source_name for each in registration.listing(admin)}
