"""Items that nobody's failure made, and items that were ended too early: what the proof says of them, and what the
audit makes of them.
"""

from __future__ import annotations

import pytest

import inventory
import judging
from bed import as_user, command, connect, silent
from inventory import POISON
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.failures import failed_items
from oneroof.proof import prove
from oneroof.proof.obligations import Scope
from oneroof.sources.source import Source

STATES = "SELECT state, resolution FROM oneroof.governance_retry ORDER BY item_id"


@pytest.fixture
def tailed(admin: Connection) -> Source:
    """Sixty rows, swept, followed and judged."""
    admin.execute("DELETE FROM oneroof.governance_source")
    made = inventory.make(admin)
    admin.execute("INSERT INTO src SELECT n, now(), 'code ' || n FROM generate_series(1, 60) AS n")
    inventory.sweep(admin, made, batch=50)
    follow(admin, made)
    return made


def follow(admin: Connection, tailed: Source) -> None:
    inventory.intake(admin, tailed, batch=50)
    judging.judge(admin, tailed)


def audit(admin: Connection, tailed: Source) -> dict[str, int]:
    judging.audit(admin, tailed)
    judging.judge(admin, tailed)
    (said,) = one(
        admin, "SELECT last_run_summary FROM oneroof.gov_worker_cursor WHERE worker_name = 'gov_periodic_full_audit'"
    )
    return {name: said[name] for name in ("items_ended", "repaired_missing", "repaired_drift", "failed") if said[name]}


def make_up(admin: Connection, key: str, *, xid: str = "xmin::text::bigint", state: str = "dead") -> int:
    """An item of a row that never failed."""
    (item,) = one(
        admin,
        "INSERT INTO oneroof.governance_retry (worker_name, source_name, source_key, key_mark, row_xid, state,"
        " sqlstate,"
        f" last_error) SELECT 'gov_handoff_intake', 'src', id::text, id::text, {xid}, %s, '22000', 'made up' FROM src"
        " WHERE id = %s::int RETURNING item_id",
        (state, key),
    )
    return int(item)


def hide(admin: Connection, key: str) -> None:
    """Take a candidate away; the books follow."""
    assert admin.execute("DELETE FROM oneroof.governance_candidate_state WHERE source_key = %s", (key,)).rowcount == 1


def books(admin: Connection, *, deep: bool = False) -> Scope:
    return prove.prove(admin, deep=deep, progress=silent).scopes[0]


def broken(scope: Scope) -> dict[str, list[str]]:
    return {each.obligation: each.names for each in scope.obligations if not each.holds}


def states(admin: Connection) -> list[tuple[str, str | None]]:
    return [tuple(row) for row in admin.execute(STATES)]


@pytest.mark.parametrize("state", ["waiting", "dead"])
def test_a_row_is_not_hidden_behind_an_item_of_another_version(admin: Connection, tailed: Source, state: str) -> None:
    """What failed once, or never, does not account for the row as it is."""
    hide(admin, "5")
    make_up(admin, "5", xid="1", state=state)
    assert broken(books(admin)) == {"no_omission": ["src:code 5"]}
    assert audit(admin, tailed) == {"items_ended": 1, "repaired_missing": 1}
    assert states(admin) == [("done", "applied by the audit")]
    assert broken(books(admin, deep=True)) == {}


@pytest.mark.parametrize("state", ["waiting", "dead"])
def test_a_row_that_is_hidden_behind_an_item_is_named_and_found_by_the_audit(
    admin: Connection, tailed: Source, state: str
) -> None:
    """Nobody can tell such an item from a true one but by trying; until then it is told by name."""
    hide(admin, "5")
    make_up(admin, "5", state=state)
    scope = books(admin)
    said = prove.document(prove.prove(admin, deep=False, progress=silent), version="x")["scopes"]["src"]
    names = {"waiting": "retry_names", "dead": "dead_letter_names"}
    assert (broken(scope), scope.is_complete, said[names[state]]) == ({}, False, ["src:code 5"])
    assert audit(admin, tailed) == {"items_ended": 1, "repaired_missing": 1}
    scope = books(admin, deep=True)
    assert (broken(scope), scope.failed, scope.total) == ({}, 0, 60)


@pytest.mark.parametrize("state", ["waiting", "dead"])
def test_an_item_of_a_version_that_was_applied_accounts_for_it_twice(
    admin: Connection, tailed: Source, state: str
) -> None:
    """The row has its candidate: the item is one too many, and counts for nothing."""
    before = books(admin)
    item = make_up(admin, "5", state=state)
    scope = books(admin)
    (name,) = broken(scope)["no_duplicates"]
    assert name.startswith("src:code 5 (")
    assert f"oneroof dlq resolve {item}" in name
    assert (scope.total, scope.failed, scope.undecided) == (before.total, 0, before.undecided)
    assert audit(admin, tailed) == {"items_ended": 1}
    assert states(admin) == [("done", "found well by the audit")]
    assert broken(books(admin, deep=True)) == {}


def test_an_item_of_an_older_version_of_a_row_that_is_well_changes_nothing(admin: Connection, tailed: Source) -> None:
    before = books(admin)
    make_up(admin, "5", xid="1")
    after = books(admin)
    assert (broken(after), after.undecided, after.total) == ({}, before.undecided, before.total)
    follow(admin, tailed)
    assert states(admin) == [("done", "applied again")]


@pytest.mark.parametrize("key", ["1000", "no number"])
def test_an_item_without_a_row_is_ended_by_the_audit(admin: Connection, tailed: Source, key: str) -> None:
    """There is nothing left to do for it; that the object is gone is told by its candidate."""
    admin.execute(
        "INSERT INTO oneroof.governance_retry (worker_name, source_name, source_key, key_mark, row_xid, state,"
        " sqlstate,"
        " last_error) VALUES ('gov_handoff_intake', 'src', %s, %s, 1, 'dead', '22000', 'made up')",
        (key, key),
    )
    assert broken(books(admin)) == {}
    assert audit(admin, tailed) == {"items_ended": 1}
    assert states(admin) == [("done", "its row is gone")]


def test_the_audit_leaves_what_fails_to_its_item(admin: Connection, tailed: Source) -> None:
    """Among many true ones the one that was made up is found, and nobody else is touched."""
    inventory.impatient(admin, attempts=1)
    admin.execute("UPDATE src SET status = %s WHERE id %% 2 = 0", (POISON,))
    follow(admin, tailed)
    hide(admin, "7")
    make_up(admin, "7")
    before = one(
        admin, "SELECT jsonb_agg(r ORDER BY item_id) FROM oneroof.governance_retry AS r WHERE source_key <> '7'"
    )
    assert audit(admin, tailed) == {"items_ended": 1, "repaired_missing": 1}
    assert (
        one(admin, "SELECT jsonb_agg(r ORDER BY item_id) FROM oneroof.governance_retry AS r WHERE source_key <> '7'")
        == before
    )
    assert one(admin, "SELECT count(*) FROM oneroof.governance_retry WHERE state = 'dead'") == (30,)
    scope = books(admin, deep=True)
    assert (broken(scope), scope.reasons["dead_letter"], scope.total) == ({}, 30, 60)


@pytest.mark.parametrize("key", ["5", "1000"])
def test_a_row_that_fails_still_after_its_item_was_resolved_is_named_with_the_command_that_helps(
    admin: Connection, installed_database: str, tailed: Source, key: str
) -> None:
    """Of one that never became an object the row is omitted; of another the candidate is not what its row says."""
    inventory.impatient(admin, attempts=1)
    admin.execute(
        "INSERT INTO src VALUES (%(key)s::int, now(), 'code ' || %(key)s, %(poison)s)"
        " ON CONFLICT (id) DO UPDATE SET status = excluded.status",
        {"key": key, "poison": POISON},
    )
    follow(admin, tailed)
    ((item, _),) = admin.execute("SELECT item_id, state FROM oneroof.governance_retry").fetchall()
    with connect(as_user(installed_database, "requester")) as operator:
        failed_items.resolve(operator, [item], reason="too early")
    judging.judge(admin, tailed)
    (name,) = broken(books(admin, deep=True))["derivation" if key == "5" else "no_omission"]
    assert name.startswith(f"src:code {key} (")
    assert f"oneroof dlq replay {item}" in name
    audit(admin, tailed)
    assert states(admin) == [("resolved", "too early")], "a person's word stands"

    login = as_user(installed_database, "requester")
    assert command("dlq", "replay", str(item), "--json", dsn=login).json["replayed"] == 1
    follow(admin, tailed)
    assert one(admin, "SELECT state FROM oneroof.governance_retry") == ("dead",)
    scope = books(admin, deep=True)
    assert (broken(scope), scope.is_complete) == ({}, False)
    assert one(admin, "SELECT count(*) FROM event_pending WHERE error_count > 0 AND processed_at IS NULL") == (1,)
