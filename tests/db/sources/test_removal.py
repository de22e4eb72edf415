"""A source that is removed: its objects are gone with it, retired and kept as tombstones (doc 31 §7), some at a time,
whoever is killed; and they come back only as anything does that was gone.
"""

from __future__ import annotations

import pytest

import inventory
import judging
from bed import as_user, command, connect, eventually, silent, spawn
from logins import sign_in
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import Refused
from oneroof.people import owners
from oneroof.proof import prove
from oneroof.proof.obligations import Scope
from oneroof.runtime import admission
from oneroof.runtime.watch import watch
from oneroof.sources import registration, removal
from oneroof.sources.source import Source
from oneroof.workers.handoff_intake import HandoffIntake

STATES = """SELECT verdict, undecided_reason, dirty, dirty_reason, count(*)::int FROM oneroof.governance_candidate_state
            WHERE source_name = 'src' GROUP BY 1, 2, 3, 4 ORDER BY 1, 2"""
FINDINGS = """SELECT issue_type FROM system_issues WHERE source_system = 'oneroof' AND resolved_at IS NULL
              AND coalesce_key LIKE '%:src%' ORDER BY 1"""
OWNERS = b"level,subject,responsibility,owner,valid_from,valid_to\nclass,another,policy,GOV-COUNCIL,,\n"
JUDGED = [("orphan", None, False, None, 40), ("retired", None, False, None, 20)]
BURIED = [("retired", None, False, "source_removed", 60)]


@pytest.fixture
def tailed(admin: Connection, installed_database: str) -> Source:
    """Sixty objects, twenty of them retired and forty that nobody answers for, beside the births of the estate."""
    admin.execute("DELETE FROM oneroof.governance_source WHERE source_name <> 'birth_registry'")
    made = inventory.make(admin)
    with connect(as_user(installed_database, "requester")) as operator:
        owners.take(operator, OWNERS, form="csv")
    fill(admin, 1, 60)
    inventory.sweep(admin, made, batch=50)
    follow(admin, made)
    return made


def fill(admin: Connection, first: int, last: int) -> None:
    admin.execute(
        "INSERT INTO src SELECT n, now(), 'code ' || n, CASE WHEN n %% 3 = 0 THEN 'retired' ELSE 'born' END"
        " FROM generate_series(%s::int, %s) AS n",
        (first, last),
    )


def follow(admin: Connection, tailed: Source) -> None:
    inventory.intake(admin, tailed, batch=500)
    judging.judge(admin, tailed)


def states(admin: Connection) -> list[tuple[object, ...]]:
    return [tuple(row) for row in admin.execute(STATES)]


def findings(admin: Connection) -> list[str]:
    return [name for (name,) in admin.execute(FINDINGS)]


def books(admin: Connection) -> Scope:
    found = next(each for each in prove.prove(admin, deep=True, progress=silent).scopes if each.name == "src")
    assert found.is_balanced, [each for each in found.obligations if not each.holds]
    assert admin.execute(judging.MISCOUNTED).fetchall() == []
    return found


def test_the_objects_of_a_removed_source_are_retired(
    admin: Connection, tailed: Source, installed_database: str
) -> None:
    """With it go its findings; what its objects were is in their history, and the books are complete."""
    assert states(admin) == JUDGED
    assert findings(admin) != []
    done = command("source", "remove", tailed.source_name, "--retire", "--json", dsn=installed_database)
    assert (done.code, done.json["objects"], done.json["retired"]) == (0, 60, 60)
    assert states(admin) == BURIED
    scope = books(admin)
    assert (scope.rows.tombstones, scope.rows.vanished.count, scope.is_complete) == (60, 0, True)
    ended = "SELECT DISTINCT ended_because FROM oneroof.governance_verdict_history WHERE verdict = 'orphan'"
    assert admin.execute(ended).fetchall() == [("source_removed",)]
    watch(admin)
    assert findings(admin) == []
    facts = "SELECT count(*) FROM oneroof.{} WHERE source_name = 'src'"
    for table in ("governance_fact_set", "governance_class", "governance_class_finding", "gov_worker_cursor"):
        assert one(admin, facts.format(table)) == (0,), table
    last = one(admin, "SELECT action FROM registry_changelog WHERE entity_type = 'oneroof.source' ORDER BY id DESC")
    assert last == ("retire",)


def test_objects_stay_as_they_are_until_somebody_retires_them(
    admin: Connection, tailed: Source, installed_database: str
) -> None:
    """It says how many there are, and how to be rid of them; nobody is retired by a mistyped name."""
    dry = command("source", "remove", "src", "--retire", "--dry-run", "--json", dsn=installed_database)
    assert (dry.code, dry.json["objects"], dry.json["dry_run"]) == (0, 60, True)
    assert registration.find(admin, "src").table == tailed.table
    before = states(admin)
    kept = command("source", "remove", "src", dsn=installed_database)
    assert (kept.code, "60 objects are kept" in kept.err, "--retire" in kept.err) == (0, True, True)
    assert watch(admin).retired == 0
    assert states(admin) == before
    assert (books(admin).rows.vanished.count, books(admin).is_complete) == (60, False)
    assert command("source", "remove", "src", dsn=installed_database).code == 3
    done = command("source", "remove", "src", "--retire", "--json", dsn=installed_database)
    assert (done.code, done.json["retired"]) == (0, 60)
    assert books(admin).is_complete
    assert command("source", "remove", "src", "--retire", dsn=installed_database).code == 3


def test_whoever_watches_finishes_what_a_killed_command_has_begun(admin: Connection, tailed: Source) -> None:
    """Between any two steps the books agree, and nothing is done twice."""
    registration.remove(admin, tailed.source_name, retire=True)
    seen = 0
    while (done := removal.go_on(admin, most=7)) is not None:
        seen += done
        books(admin)
        assert seen <= 60
    assert (seen, states(admin)) == (60, BURIED)
    assert watch(admin).retired == 0


def test_the_watch_goes_on_by_itself(admin: Connection, tailed: Source) -> None:
    registration.remove(admin, tailed.source_name, retire=True)
    assert watch(admin).retired == 60
    assert states(admin) == BURIED


def test_a_second_call_finishes_what_the_first_has_begun(
    admin: Connection, tailed: Source, installed_database: str
) -> None:
    registration.remove(admin, tailed.source_name, retire=True)
    removal.go_on(admin, most=7)
    assert command("source", "remove", "src", "--retire", "--json", dsn=installed_database).json["retired"] == 53
    assert states(admin) == BURIED


def test_what_is_added_again_comes_back_as_anything_that_was_gone(admin: Connection, tailed: Source) -> None:
    """The sweep alone brings nobody back; the audit does, and that it was gone stays known."""
    registration.remove(admin, tailed.source_name, retire=True)
    watch(admin)
    again = registration.add(admin, "src", key=["id"], timestamp="at", ref="code", group_by=["status"], births=True)
    admin.execute("UPDATE oneroof.governance_source SET trusted_at = now() WHERE source_name = 'src'")
    inventory.sweep(admin, again, batch=50)
    follow(admin, again)
    assert {verdict for verdict, *_ in states(admin)} == {"retired"}
    assert books(admin).rows.returned.count == 60
    judging.audit(admin, again)
    judging.judge(admin, again)
    assert states(admin) == JUDGED
    assert (books(admin).rows.returned.count, "resurrected_object" in findings(admin)) == (0, True)


def test_a_source_that_is_added_again_before_all_are_retired_keeps_the_others(
    admin: Connection, tailed: Source
) -> None:
    registration.remove(admin, tailed.source_name, retire=True)
    removal.go_on(admin, most=7)
    again = registration.add(admin, "src", key=["id"], timestamp="at", ref="code", group_by=["status"], births=True)
    admin.execute("UPDATE oneroof.governance_source SET trusted_at = now() WHERE source_name = 'src'")
    assert removal.go_on(admin) is None
    inventory.sweep(admin, again, batch=50)
    follow(admin, again)
    assert books(admin).rows.returned.count == 7
    judging.audit(admin, again)
    judging.judge(admin, again)
    assert (books(admin).rows.returned.count, books(admin).rows.tombstones) == (0, 0)


def test_a_row_of_another_source_takes_the_object_over(admin: Connection, tailed: Source) -> None:
    """It was accounted by the candidate of the source that is gone; its own audit gives it one."""
    admin.execute("CREATE TABLE others (id int PRIMARY KEY, at timestamptz, address text, status text)")
    admin.execute("INSERT INTO others VALUES (1, now(), 'src:code 5', 'born')")
    other = registration.add(admin, "others", key=["id"], timestamp="at", group_by=["status"], births=True)
    admin.execute(
        "UPDATE oneroof.governance_source SET trusted_at = now(), address_column = 'address' WHERE source_name ="
        " 'others'"
    )
    other = registration.find(admin, "others")
    inventory.sweep(admin, other, scope="others")
    assert one(admin, "SELECT count(*) FROM oneroof.governance_duplicate WHERE source_name = 'others'") == (1,)
    registration.remove(admin, tailed.source_name, retire=True)
    watch(admin)
    judging.intake(admin, other)
    judging.audit(admin, other)
    judging.judge(admin, other)
    held = "SELECT source_name, verdict FROM oneroof.governance_candidate_state WHERE candidate_key = 'src:code 5'"
    assert one(admin, held) == ("others", "orphan")
    scopes = {each.name: each.is_balanced for each in prove.prove(admin, deep=True, progress=silent).scopes}
    assert (scopes["src"], scopes["others"]) == (True, True)


def test_whoever_was_at_work_when_it_was_removed_keeps_nothing(admin: Connection, tailed: Source) -> None:
    """A batch that was under way, and whoever has not heard yet, add nothing to what is being retired."""
    fill(admin, 61, 70)
    inventory.settle(admin)
    worker = HandoffIntake(admin, tailed, inventory.claim(admin, inventory.INTAKE), at_once=True)
    worker.run_once()
    fill(admin, 71, 80)
    registration.remove(admin, tailed.source_name, retire=True)
    admin.execute("GRANT SELECT ON src TO oneroof_worker")
    with pytest.raises(Refused):
        worker.run_once()
    watch(admin)
    assert {verdict for verdict, *_ in states(admin)} == {"retired"}
    assert one(admin, "SELECT count(*) FROM oneroof.gov_worker_cursor WHERE source_name = 'src'") == (0,)


def test_a_worker_runs_on_while_a_source_is_removed(admin: Connection, tailed: Source, installed_database: str) -> None:
    """It hears of it within seconds, and no finding is left of what it met meanwhile."""
    with sign_in(installed_database) as logins:
        logins.open_gate(admission.GATE)
    running = spawn("run", dsn=installed_database)
    try:
        ticks = "SELECT count(*) FROM queue_heartbeat WHERE executor_name LIKE '%:src' AND lease_owner IS NOT NULL"
        eventually(lambda: one(admin, ticks)[0] >= 4, what="all workers")
        assert command("source", "remove", tailed.source_name, "--retire", dsn=installed_database).code == 0
        eventually(lambda: not findings(admin) and one(admin, ticks)[0] == 0, what="all to leave")
        assert states(admin) == BURIED
        assert one(admin, "SELECT count(*) FROM oneroof.gov_worker_cursor WHERE source_name = 'src'") == (0,)
    finally:
        running.terminate()
        running.communicate(timeout=30)
