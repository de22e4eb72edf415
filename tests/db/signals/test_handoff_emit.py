"""The handoff's signals are made in the database: addresses, refs and counts by construction, each once (doc 41)."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from bed import connect
from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.errors import Refused
from oneroof.findings import store
from oneroof.signals import emission, event_types, vocabulary

BORN = "governance.handoff.object_born"
WORKER = "oneroof_worker"
AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


@dataclass(frozen=True)
class Handoff:
    """One place of the arrays."""

    number: int | None = 1
    key: str | None = "K-1"
    kind: str | None = "object_born"
    ref: str | None = "ENT-1"
    address: str | None = None
    of_class: str | None = "things"
    group: str | None = "things/active"
    system: str | None = "directus"
    actor: str | None = "user:7"
    at: datetime | None = AT
    changes: int | None = None


def handoff(number: int, /, **said: Any) -> Handoff:
    return replace(Handoff(number=number, key=f"K-{number}", ref=f"ENT-{number}"), **said)


def emit(
    connection: Connection, *batch: Handoff, source: str | None = "birth_registry", table: str | None = "birth_registry"
) -> tuple[int, int, int, int]:
    """Emitted, held, refused and known."""
    fields = ("kind", "key", "number", "ref", "address", "of_class", "group", "system", "actor", "at", "changes")
    kinds = ("text", "text", "bigint", *6 * ("text",), "timestamptz", "bigint")
    given = ", ".join(f"%s::{kind}[]" for kind in kinds)
    arrays = [[getattr(each, name) for each in batch] for name in fields]
    with transaction(connection, doing="handing off", role=WORKER):
        row = connection.execute(
            f"SELECT emitted, held, refused, known FROM oneroof.gov_handoff_emit(%s::text, %s::text, {given})",
            (source, table, *arrays),
        ).fetchone()
    assert row is not None
    emitted, held, refused, known = row
    return emitted, held, refused, known


def payloads(admin: Connection) -> list[dict[str, Any]]:
    rows = admin.execute(
        "SELECT safe_payload FROM event_outbox WHERE event_domain = 'governance' ORDER BY created_at, id"
    )
    return [payload for (payload,) in rows]


def faults(admin: Connection) -> dict[str, list[str]]:
    return {
        each.subject.removeprefix("gov_emit:"): each.details["faults"]
        for each in store.listing(admin)
        if each.issue_type == "input_invalid_schema"
    }


def test_doc41_5_a_handoff_is_addresses_refs_and_counts(logins: Logins) -> None:
    """doc 41 §41.5, doc 32 §7: what happened to which object, where it is, who did it and in which system; the parts
    that nobody knows are left out.
    """
    logins.activate(BORN)
    bare = handoff(2, of_class=None, group=None, system=None, actor=None, at=None, address="somewhere:else", changes=3)
    assert emit(logins.admin, handoff(1), bare, handoff(3, ref="things:3")) == (3, 0, 0, 0)
    rows = logins.admin.execute(
        "SELECT event_type, event_stream, event_severity, event_subject_table, event_subject_ref, canonical_address,"
        " actor_ref, source_system, correlation_id, payload_classification, occurred_at FROM event_outbox"
        " WHERE event_domain = 'governance' ORDER BY created_at"
    ).fetchall()
    same = (BORN, "governance.handoff", "info", "birth_registry")
    marks = ("oneroof", "oneroof", None, "safe_metadata")
    assert rows[0] == (*same, "ENT-1", "things:ENT-1", *marks, AT)
    assert rows[1][4:6] == ("ENT-2", "somewhere:else")
    assert rows[2][4:6] == ("things:3", "things:3")
    first, second, _ = payloads(logins.admin)
    assert first == {
        "object_type": "things",
        "collection_name": "things",
        "group_key": "things/active",
        "change_kind": "object_born",
        "occurred_at": "2026-03-01T12:30:00+00:00",
        "source": "birth_registry",
        "source_system": "directus",
        "actor_ref": "user:7",
        "change_number": 1,
    }
    assert second == {"source": "birth_registry", "change_kind": "object_born", "change_number": 2, "changes": 3}
    assert emission.foreign(logins.admin) == []


def test_the_keys_of_a_handoff_stand_in_one_place(admin: Connection) -> None:
    """What a payload is made of, if all of it is known, what is asked of a type, and what every kind has."""
    whole = "oneroof.gov_handoff_payload('s', 1, 'a', 'g', 'k', 'c', now(), 1, 'y')"
    (made, wanted) = one(admin, f"SELECT ARRAY(SELECT jsonb_object_keys({whole}::jsonb)), oneroof.gov_handoff_keys()")
    assert sorted(made) == sorted(wanted)
    kinds = [entry["payload_keys"] for entry in vocabulary.shipped() if entry["family"] == "handoff"]
    assert all(set(wanted) <= set(keys) for keys in kinds)


def test_what_never_was_is_no_handoff(logins: Logins) -> None:
    """A moment that is infinite is none; the rest of the batch goes its way."""
    logins.activate(BORN)
    row = one(
        logins.admin,
        "SELECT emitted, held, refused, known FROM oneroof.gov_handoff_emit('birth_registry', 'birth_registry',"
        " '{object_born,object_born}', '{a,b}', '{1,1}', '{a,b}', NULL, '{c,c}', NULL, NULL, NULL,"
        " '{infinity,2026-03-01}', NULL)",
    )
    assert row == (1, 0, 1, 0)
    assert faults(logins.admin) == {BORN: ["occurred_at: no moment"]}


@pytest.mark.parametrize("word", ['"', "\\", '", "contents": "x', "\n\t\x01", "đ\U0001f600", "{}", "'", "%s", "null"])
def test_a_value_is_a_value_whatever_it_says(logins: Logins, word: str) -> None:
    """Nothing that a value says makes another key, or another event."""
    logins.activate(BORN)
    # Whoever has a policy is known, whatever it is called.
    logins.admin.execute("INSERT INTO oneroof.governance_worker_policy (worker_name) VALUES (%s)", (word,))
    odd = handoff(1, of_class=word, group=word, system=word, actor=word, ref=word, key=word)
    assert emit(logins.admin, odd, handoff(2), source=word) == (2, 0, 0, 0)
    payload, plain = payloads(logins.admin)
    assert {payload[key] for key in ("object_type", "group_key", "source_system", "actor_ref", "source")} == {word}
    allowed = next(entry["payload_keys"] for entry in vocabulary.shipped() if entry["event_type"] == BORN)
    assert payload.keys() == plain.keys() < set(allowed)
    assert emission.foreign(logins.admin) == []


def test_an_event_of_the_handoff_is_the_same_event_to_gov_emit(logins: Logins) -> None:
    """One id for one change, by whichever way it comes."""
    logins.activate(BORN)
    assert emit(logins.admin, handoff(1)) == (1, 0, 0, 0)
    same = emission.Event(
        event_type=BORN,
        source="birth_registry",
        source_key="K-1",
        change_number=1,
        subject_table="birth_registry",
        subject_ref="ENT-1",
    )
    with transaction(logins.admin, doing="emitting", role=WORKER):
        assert emission.emit(logins.admin, [same, replace(same, change_number=2)]) == emission.Emitted(1, 0, 0, 1)


@pytest.mark.parametrize("active", [True, False])
@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"key": None}, "source"),
        ({"number": None}, "source"),
        ({"ref": None}, "subject"),
        ({"ref": "x" * 2001}, "subject"),
        ({"address": "x" * 4001}, "subject"),
        ({"of_class": "x" * 257}, "collection_name"),
        ({"system": "x" * 257}, "source_system"),
        ({"actor": "x" * 257}, "actor_ref"),
        ({"of_class": "\U0001f600" * 256}, "payload"),
    ],
    ids=lambda said: str(said)[:16],
)
def test_what_is_missing_or_too_long_is_refused(logins: Logins, active: bool, said: dict[str, Any], fault: str) -> None:
    """Neither emitted nor held, one finding for the kind that does not repeat what it said; the others go their way."""
    if active:
        logins.activate(BORN)
    for _ in range(2):
        emit(logins.admin, handoff(2, **said))
    taken = emit(logins.admin, handoff(1), handoff(2, **said), handoff(3))
    assert taken == ((2, 0, 1, 0) if active else (0, 2, 1, 0))
    ((subject, (named, *others)),) = faults(logins.admin).items()
    assert (subject, named.split(":")[0], others) == (BORN, fault, [])
    assert "xxx" not in named
    refs = "SELECT event_subject_ref FROM event_outbox WHERE event_domain = 'governance' ORDER BY created_at"
    kept = "SELECT entity_ref FROM event_pending ORDER BY entity_ref"
    assert logins.admin.execute(refs if active else kept).fetchall() == [("ENT-1",), ("ENT-3",)]


@pytest.mark.parametrize("kind", [None, "", "Born", 'x", "y', "x" * 182, "a..b"])
def test_a_kind_that_is_no_name_is_refused(logins: Logins, kind: str | None) -> None:
    """A type of the governance domain, or nothing."""
    logins.activate(BORN)
    assert emit(logins.admin, handoff(1), handoff(2, kind=kind)) == (1, 0, 1, 0)
    assert faults(logins.admin).keys() == {"(no type)"}


@pytest.mark.parametrize(
    "said",
    [{"source": None}, {"source": "x" * 257}, {"table": None}, {"table": "x" * 64}],
    ids=lambda said: str(said)[:16],
)
def test_without_a_source_or_a_table_all_is_refused(logins: Logins, said: dict[str, Any]) -> None:
    """There is nothing to look for."""
    logins.activate(BORN)
    assert emit(logins.admin, handoff(1), handoff(2), **said) == (0, 0, 2, 0)
    assert faults(logins.admin).keys() == {BORN}


def test_a_long_group_is_its_beginning_and_a_digest(logins: Logins) -> None:
    """At most 256 characters, another for another group, and never one that a shorter group has."""
    logins.activate(BORN)
    long, other, short = "g" * 3000, "g" * 2999 + "h", "g" * 255
    batch = [handoff(n, group=group) for n, group in enumerate((long, other, short, "g" * 256))]
    assert emit(logins.admin, *batch) == (4, 0, 0, 0)
    groups = [payload["group_key"] for payload in payloads(logins.admin)]
    assert groups[0] == "g" * 191 + ":" + hashlib.sha256(long.encode()).hexdigest()
    assert [len(group) for group in groups] == [256, 256, 255, 256]
    assert len(set(groups)) == 4
    assert groups[2] == short


def test_a_kind_in_no_vocabulary_is_held_and_told_once(logins: Logins) -> None:
    """As by gov_emit; nothing of it is emitted, whatever the host's registry says."""
    assert emit(logins.admin, *(handoff(n, kind="unheard_of") for n in range(3))) == (0, 3, 0, 0)
    assert emit(logins.admin, *(handoff(n, kind="unheard_of") for n in range(4))) == (0, 1, 0, 3)
    told = [each.subject for each in store.listing(logins.admin) if each.issue_type == "handoff_unregistered_type"]
    assert told == ["gov_emit:governance.handoff.unheard_of"]
    assert event_types.strays(logins.admin) == {"governance.handoff.unheard_of": 4}
    reasons = "SELECT DISTINCT capture_payload ->> 'reason' FROM event_pending"
    assert logins.admin.execute(reasons).fetchall() == [("not in the vocabulary",)]


def test_held_then_promoted_once_and_in_order(logins: Logins) -> None:
    """What was handed off while the type was inactive comes out once, each subject's in its order; again nothing."""
    batch = [handoff(n, key=f"K-{n % 7}", ref=f"ENT-{n % 7}", changes=n) for n in range(50)]
    assert emit(logins.admin, *batch[:30]) == (0, 30, 0, 0)
    assert emit(logins.admin, *batch) == (0, 20, 0, 30)
    logins.activate(BORN)
    late = handoff(99, key="K-0", ref="ENT-0", changes=99)
    assert emit(logins.admin, late, handoff(100, changes=100)) == (1, 1, 0, 0)
    assert [emission.promote(logins.admin, most=20) for _ in range(4)] == [20, 20, 11, 0]
    assert emit(logins.admin, *batch, late) == (0, 0, 0, 51)
    rows = logins.admin.execute(
        "SELECT event_subject_ref, (safe_payload ->> 'changes')::integer FROM event_outbox"
        " WHERE event_domain = 'governance' ORDER BY created_at, id"
    ).fetchall()
    assert len(rows) == len(set(rows)) == 52
    for subject in range(7):
        numbers = [number for ref, number in rows if ref == f"ENT-{subject}"]
        assert numbers == [*range(subject, 50, 7), *([99] if subject == 0 else [])]
    assert payloads(logins.admin)[1]["changes"] == 0
    assert emission.foreign(logins.admin) == []
    pending = "SELECT DISTINCT capture_payload ->> 'state' FROM event_pending"
    assert logins.admin.execute(pending).fetchall() == [("promoted",)]


@pytest.mark.parametrize("active", [True, False])
def test_repeated_it_is_known(logins: Logins, active: bool) -> None:
    """Whole, in part, twice in a batch: each once."""
    if active:
        logins.activate(BORN)

    def taken(new: int, known: int) -> tuple[int, int, int, int]:
        return (new, 0, 0, known) if active else (0, new, 0, known)

    batch = [handoff(n) for n in range(20)]
    assert emit(logins.admin, *batch[:10], *batch[:5]) == taken(10, 5)
    assert emit(logins.admin, *batch[:10]) == taken(0, 10)
    assert emit(logins.admin, *reversed(batch)) == taken(10, 10)
    assert emit(logins.admin) == (0, 0, 0, 0)
    table = "event_outbox WHERE event_domain = 'governance'" if active else "event_pending"
    assert logins.admin.execute(f"SELECT count(*) FROM {table}").fetchone() == (20,)


@pytest.mark.parametrize("active", [True, False])
def test_the_same_from_two_sessions_at_once(logins: Logins, active: bool) -> None:
    """Forwards and backwards, and on a host without any unique key: each once."""
    logins.admin.execute("ALTER TABLE event_outbox DROP CONSTRAINT event_outbox_pkey")
    if active:
        logins.activate(BORN)
    batch = [handoff(n) for n in range(500)]
    outcomes: list[tuple[int, int, int, int]] = []
    begin = threading.Barrier(4)

    def work(order: int) -> None:
        with connect(logins.dsn) as connection:
            begin.wait()
            outcomes.append(emit(connection, *batch[::order]))

    threads = [threading.Thread(target=work, args=(order,)) for order in (1, -1, 1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == sorted([(500, 0, 0, 0) if active else (0, 500, 0, 0), *3 * [(0, 0, 0, 500)]])


def test_who_began_first_and_gives_up_leaves_it_to_the_other(logins: Logins) -> None:
    """The same event in an open transaction is waited for; when that is rolled back, the other emits it."""
    logins.activate(BORN)
    outcomes: list[tuple[int, int, int, int]] = []
    with connect(logins.dsn) as first, connect(logins.dsn) as second:
        first.execute("BEGIN")
        first.execute(
            "INSERT INTO oneroof.governance_event (event_id, event_type, state, noted_at)"
            " SELECT oneroof.gov_event_id('birth_registry', 'K-1', 1, %s), %s, 'emitted', now()",
            (BORN, BORN),
        )
        thread = threading.Thread(target=lambda: outcomes.append(emit(second, handoff(1))))
        thread.start()
        first.execute("ROLLBACK")
        thread.join()
    assert outcomes == [(1, 0, 0, 0)]


def test_the_worker_hands_off_and_nobody_goes_past_the_checks(logins: Logins) -> None:
    """gov_handoff_emit is the worker's; gov_emit_checked is for the owner's functions alone."""
    arrays = ", ".join("NULL" for _ in range(11))
    with transaction(logins.admin, doing="trying", role=WORKER):
        logins.admin.execute(f"SELECT oneroof.gov_handoff_emit('a', 'b', {arrays})")
    for role in ("worker", "operator", "approver", "executor", "reader", "console"):
        with (
            pytest.raises(Refused, match="permission denied"),
            transaction(logins.admin, doing="trying", role=f"oneroof_{role}"),
        ):
            logins.admin.execute(f"SELECT oneroof.gov_emit_checked({arrays})")
        if role != "worker":
            with (
                pytest.raises(Refused, match="permission denied"),
                transaction(logins.admin, doing="trying", role=f"oneroof_{role}"),
            ):
                logins.admin.execute(f"SELECT oneroof.gov_handoff_emit('a', 'b', {arrays})")


def test_in_a_snapshot_that_cannot_see_it_the_same_event_is_no_second_one(logins: Logins) -> None:
    """Repeatable read: an event that another emitted since is a serialization failure, as everywhere."""
    logins.activate(BORN)
    with connect(logins.dsn) as late:
        late.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        late.execute("SELECT count(*) FROM oneroof.governance_event")
        assert emit(logins.admin, handoff(1)) == (1, 0, 0, 0)
        with pytest.raises(psycopg.errors.SerializationFailure):
            late.execute(
                "SELECT * FROM oneroof.gov_handoff_emit('birth_registry', 'birth_registry', '{object_born}',"
                " '{K-1}', '{1}',"
                " '{ENT-1}', NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
            )
        late.execute("ROLLBACK")
