"""An object whose row's last change failed is undecided until the item is over (doc 31 §8 and §9): nobody may take the
verdict of an older version for that of the row as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import judging
from bed import as_user, connect, silent
from inventory import POISON, impatient
from judging import BIRTHS
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.failures import failed_items
from oneroof.people import owners
from oneroof.proof import prove
from oneroof.proof.obligations import Scope
from oneroof.runtime.watch import watch
from oneroof.sources import registration, source

HEAD = "level,subject,responsibility,owner,valid_from,valid_to\n"
STATE = """SELECT c.verdict, c.undecided_reason, c.input_quality_state FROM oneroof.governance_candidate_state AS c
           WHERE c.candidate_key = %s"""
ENDED = "SELECT state, resolution FROM oneroof.governance_retry"
# Words that can be read, and one that cannot.
FICKLE = """CREATE TYPE fickle AS (word text);
    CREATE FUNCTION fickle_text(fickle) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
      IF ($1).word = 'bad' THEN RAISE EXCEPTION 'no word' USING ERRCODE = '22023'; END IF;
      RETURN ($1).word;
    END $$;
    CREATE CAST (fickle AS text) WITH FUNCTION fickle_text(fickle)"""
KEY = "customer_records:X-1"
COVERED = ("covered", None, "ready")
RETRY = ("undecided", "retry", "incomplete")
DEAD = ("undecided", "dead_letter", "invalid_schema")


@pytest.fixture
def operator(installed_database: str) -> Iterator[Connection]:
    with connect(as_user(installed_database, "requester")) as connection:
        yield connection


@pytest.fixture
def born(admin: Connection, operator: Connection) -> str:
    """An object with an owner, swept, judged and covered; the key of its row."""
    admin.execute("DELETE FROM oneroof.governance_source WHERE source_name <> %s", (BIRTHS,))
    owners.take(operator, f"{HEAD}scope,*,policy,GOV-COUNCIL,,\n".encode(), form="csv")
    (key,) = one(
        admin,
        "INSERT INTO birth_registry (collection_name, entity_code, species_code, governance_role, status, certified,"
        " born_at) VALUES ('customer_records', 'X-1', 'SPC-01', 'container', 'born', true, now()) RETURNING id::text",
    )
    judging.sweep(admin, judging.births(admin))
    follow(admin)
    assert state(admin) == COVERED
    return str(key)


def follow(admin: Connection) -> None:
    """What is new is applied, and what is dirty is judged."""
    judging.intake(admin, judging.births(admin))
    judging.judge(admin, judging.births(admin))


def state(admin: Connection, key: str = KEY) -> tuple[Any, ...]:
    return tuple(one(admin, STATE, (key,)))


def poison(admin: Connection, key: str, *, status: str = POISON) -> None:
    admin.execute("UPDATE birth_registry SET status = %s WHERE id = %s::int", (status, key))


def patient(admin: Connection) -> None:
    """Nothing is tried again by itself."""
    admin.execute("UPDATE oneroof.governance_worker_policy SET backoff_first = '1 hour', backoff_most = '1 hour'")


def items(admin: Connection) -> list[tuple[int, str]]:
    return [tuple(row) for row in admin.execute("SELECT item_id, state FROM oneroof.governance_retry ORDER BY 1")]


def books(admin: Connection) -> Scope:
    found = prove.prove(admin, deep=True, progress=silent)
    assert found.is_balanced, [each for scope in found.scopes for each in scope.obligations if not each.holds]
    return next(scope for scope in found.scopes if scope.name == BIRTHS)


def findings(admin: Connection, kind: str) -> list[str]:
    rows = admin.execute("SELECT status FROM system_issues WHERE issue_type = %s ORDER BY id", (kind,))
    return [status for (status,) in rows]


def reasons(admin: Connection) -> dict[str, int]:
    """Why objects are undecided, as a certificate says it."""
    found = prove.prove(admin, deep=False, progress=silent)
    said: dict[str, int] = prove.document(found, version="x")["scopes"][BIRTHS]["undecided"]
    return {name: count for name, count in said.items() if name in ("retry", "dead_letter")}


def test_a_candidate_whose_row_becomes_poison_is_undecided_until_it_is_mended(
    admin: Connection, born: str, operator: Connection
) -> None:
    """Retry, then a dead letter, then mended and replayed: covered again. The books say so all the way."""
    assert books(admin).rows.unapplied.count == 0
    undecided = books(admin).undecided
    patient(admin)
    poison(admin, born)
    judging.intake(admin, judging.births(admin))
    assert (state(admin), books(admin).rows.unapplied.count, books(admin).undecided) == (COVERED, 1, undecided + 1)
    judging.judge(admin, judging.births(admin))
    assert (state(admin), books(admin).rows.unapplied.count, books(admin).undecided) == (RETRY, 0, undecided + 1)
    assert (reasons(admin), books(admin).is_complete) == ({"retry": 1}, False)

    admin.execute("UPDATE oneroof.governance_worker_policy SET attempts = 2")
    admin.execute("UPDATE oneroof.governance_retry SET next_attempt_at = now()")
    follow(admin)
    assert [state for _, state in items(admin)] == ["dead"]
    assert (state(admin), reasons(admin), books(admin).undecided) == (DEAD, {"dead_letter": 1}, undecided + 1)

    poison(admin, born, status="born")
    failed_items.replay(operator, [item for item, _ in items(admin)])
    judging.judge(admin, judging.births(admin))
    assert state(admin) == RETRY
    follow(admin)
    assert [state for _, state in items(admin)] == ["done"]
    assert (state(admin), reasons(admin), books(admin).undecided) == (COVERED, {}, undecided)
    judging.check(admin)


@pytest.mark.parametrize("status", ["born", "retired"])
def test_a_dead_letter_is_over_when_a_later_version_of_its_row_is_applied(
    admin: Connection, born: str, status: str
) -> None:
    """Mended at the source, as it was or otherwise: judged like any other, and the item says why it ended."""
    impatient(admin, attempts=1)
    poison(admin, born)
    follow(admin)
    watch(admin)
    assert (state(admin), findings(admin, "cursor_dlq")) == (DEAD, ["open"])
    poison(admin, born, status=status)
    follow(admin)
    assert one(admin, ENDED) == ("done", "applied again")
    assert (state(admin)[0], reasons(admin)) == ("covered" if status == "born" else "retired", {})
    watch(admin)
    assert findings(admin, "cursor_dlq") == ["resolved"]
    assert one(admin, "SELECT count(*) FROM event_pending WHERE error_count > 0 AND processed_at IS NULL") == (0,)
    judging.check(admin)


def test_an_older_version_is_over_and_the_newest_that_failed_is_not(admin: Connection, born: str) -> None:
    """A row that is poison still, otherwise than before: its items are two, and none of them is over."""
    impatient(admin, attempts=1)
    poison(admin, born)
    follow(admin)
    poison(admin, born, status=POISON + "x")
    follow(admin)
    assert ([state for _, state in items(admin)], state(admin)) == (["dead", "dead"], DEAD)
    poison(admin, born, status="born")
    follow(admin)
    assert ([state for _, state in items(admin)], state(admin)) == (["done", "done"], COVERED)


def test_a_birth_that_failed_and_was_mended_is_over(admin: Connection, born: str) -> None:
    """It has a candidate now, and no item beside it; whatever failed before is on record."""
    impatient(admin, attempts=1)
    (key,) = one(
        admin,
        "INSERT INTO birth_registry (collection_name, entity_code, status, born_at)"
        " VALUES ('customer_records', 'X-2', %s, now()) RETURNING id::text",
        (POISON,),
    )
    follow(admin)
    assert reasons(admin) == {"dead_letter": 1}
    poison(admin, key, status="born")
    follow(admin)
    assert (one(admin, ENDED), reasons(admin), books(admin).rows.unapplied.count) == (("done", "applied again"), {}, 0)
    assert state(admin, "customer_records:X-2")[0] == state(admin)[0]
    assert born != key


def test_a_change_that_failed_and_was_mended_is_over(admin: Connection) -> None:
    """A row of a change log makes no candidate; a later version of it is applied all the same."""
    admin.execute(FICKLE)
    admin.execute("CREATE TABLE log (id int PRIMARY KEY, at timestamptz, word fickle)")
    tailed = registration.add(admin, "log", key=["id"], timestamp="at", ref="word", kind=source.CHANGELOG)
    impatient(admin, attempts=1)
    judging.intake(admin, tailed)
    admin.execute("INSERT INTO log VALUES (1, now(), row('bad')), (2, now(), row('bad'))")
    judging.intake(admin, tailed)
    assert [state for _, state in items(admin)] == ["dead", "dead"]
    admin.execute("UPDATE log SET word = row('good')::fickle WHERE id = 2")
    judging.intake(admin, tailed)
    assert [state for _, state in items(admin)] == ["dead", "done"]


def test_a_mended_row_that_waits_is_judged_by_its_new_facts(admin: Connection, born: str) -> None:
    """What it is now, and not what it was before it failed."""
    patient(admin)
    poison(admin, born)
    follow(admin)
    poison(admin, born, status="retired")
    admin.execute("UPDATE oneroof.governance_retry SET next_attempt_at = now()")
    follow(admin)
    assert state(admin)[0] == "retired"
    judging.check(admin)


def test_a_resolved_dead_letter_leaves_the_verdict_of_the_last_version_that_was_applied(
    admin: Connection, born: str, operator: Connection
) -> None:
    """A person has said that nothing more is to come of it."""
    impatient(admin, attempts=1)
    poison(admin, born)
    follow(admin)
    assert state(admin) == DEAD
    failed_items.resolve(operator, [item for item, _ in items(admin)], reason="known")
    judging.judge(admin, judging.births(admin))
    assert (state(admin), reasons(admin)) == (COVERED, {})


def test_the_newest_change_of_a_row_says_how_it_is(admin: Connection, born: str, operator: Connection) -> None:
    """Two versions failed: what becomes of the older one says nothing of the row as it is."""
    impatient(admin, attempts=1)
    poison(admin, born)
    follow(admin)
    patient(admin)
    admin.execute("UPDATE oneroof.governance_worker_policy SET attempts = 5")
    poison(admin, born, status=POISON + "x")
    follow(admin)
    (older, _), (newer, _) = items(admin)
    assert (state(admin), reasons(admin)) == (RETRY, {"retry": 1})
    failed_items.resolve(operator, [older], reason="there is a newer one")
    judging.judge(admin, judging.births(admin))
    assert state(admin) == RETRY
    failed_items.resolve(operator, [newer], reason="known")
    judging.judge(admin, judging.births(admin))
    assert state(admin) == COVERED


def test_what_else_is_known_of_an_object_stays_known(admin: Connection, born: str, operator: Connection) -> None:
    """An owner of its own, before, meanwhile and after."""
    owners.take(operator, f"{HEAD}object,{KEY},health,GOV-SIV,,\n".encode(), form="csv")
    impatient(admin, attempts=1)
    poison(admin, born)
    follow(admin)
    assert state(admin) == DEAD
    facts = "SELECT facts FROM oneroof.governance_object WHERE candidate_key = %s"
    assert one(admin, facts, (KEY,))[0] == {"owners": {"health": 1}, "state": {"failed": "dead"}}
    failed_items.resolve(operator, [item for item, _ in items(admin)], reason="known")
    judging.judge(admin, judging.births(admin))
    assert one(admin, facts, (KEY,))[0] == {"owners": {"health": 1}}
    assert state(admin) == COVERED


@pytest.mark.usefixtures("born")
def test_a_birth_that_failed_has_no_candidate_and_is_accounted_by_its_item(admin: Connection) -> None:
    """Unchanged: nothing is known of what never became an object."""
    impatient(admin, attempts=1)
    admin.execute(
        "INSERT INTO birth_registry (collection_name, entity_code, status, born_at)"
        " VALUES ('customer_records', 'X-2', %s, now())",
        (POISON,),
    )
    follow(admin)
    assert (state(admin), reasons(admin), books(admin).rows.dead_letter.count) == (COVERED, {"dead_letter": 1}, 1)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_object WHERE facts -> 'state' ? 'failed'") == (0,)


@pytest.mark.usefixtures("born")
def test_a_row_whose_candidate_key_cannot_be_made_is_put_aside_all_the_same(admin: Connection) -> None:
    """Nobody can say which candidate it was; the batch goes on, and the item accounts for the row."""
    admin.execute(FICKLE)
    admin.execute("CREATE TABLE fickles (id int PRIMARY KEY, at timestamptz, word fickle, status text)")
    admin.execute("INSERT INTO fickles SELECT n, now(), row('w' || n)::fickle, 'born' FROM generate_series(1, 20) AS n")
    tailed = registration.add(admin, "fickles", key=["id"], timestamp="at", ref="word", group_by=["status"])
    impatient(admin, attempts=1)
    judging.sweep(admin, tailed)
    judging.judge(admin, tailed)
    admin.execute("UPDATE fickles SET word = row('bad')::fickle WHERE id = 7")
    admin.execute("UPDATE fickles SET status = 'grown' WHERE id = 8")
    judging.intake(admin, tailed)
    judging.judge(admin, tailed)
    assert [state for _, state in items(admin)] == ["dead"]
    assert one(admin, "SELECT candidate_key FROM oneroof.governance_retry") == (None,)
    group = "SELECT group_key FROM oneroof.governance_candidate_state WHERE candidate_key = 'fickles:w8'"
    assert one(admin, group) == ("fickles/grown",)


def test_many_objects_at_once(admin: Connection, born: str, operator: Connection) -> None:
    """A hundred rows fail together, and are replayed together when they are mended."""
    impatient(admin, attempts=1)
    admin.execute(
        "UPDATE birth_registry SET status = %s WHERE id IN (SELECT source_key::int FROM"
        " oneroof.governance_candidate_state"
        " WHERE verdict = 'covered' AND source_key <> %s AND group_key LIKE '%%/born' LIMIT 100)",
        (POISON, born),
    )
    follow(admin)
    many = len(items(admin))
    assert many == 100
    dead = "SELECT count(*) FROM oneroof.governance_candidate_state WHERE undecided_reason = 'dead_letter'"
    assert (one(admin, dead)[0], reasons(admin)) == (many, {"dead_letter": many})
    admin.execute("UPDATE birth_registry SET status = 'born' WHERE status = %s", (POISON,))
    assert failed_items.replay(operator, [item for item, _ in items(admin)]) == many
    follow(admin)
    assert (one(admin, dead)[0], reasons(admin)) == (0, {})
    judging.check(admin)
