"""Signals: registered before emitted, addresses and counts alone, each once (doc 41, promises 17, 18 and 20)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

import inventory
import judging
from bed import SETTINGS, Bed, command, connect, eventually, spawn
from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError, Refused, Usage
from oneroof.fence.lease import claim, executor_name, release
from oneroof.findings import store
from oneroof.host import channel_export
from oneroof.install import migrate
from oneroof.people import gates, requests
from oneroof.runtime.watch import watch
from oneroof.signals import emission, event_types, vocabulary
from oneroof.signals.emission import Emitted, Event
from oneroof.sources import registration
from oneroof.sources.row_expressions import is_own
from oneroof.workers import handoff_intake
from oneroof.workers.handoff_intake import HandoffIntake

BORN, RETIRED = "governance.handoff.object_born", "governance.handoff.object_retired"
ORPHAN, INCOMPLETE = "governance.coverage.orphan", "governance.input.incomplete"
GATE = "governance.emit_enabled"
WORKER = "oneroof_worker"


def born(number: int, *, subject: object = None, kind: str = BORN, **payload: object) -> Event:
    """The event that an object was born: change number so-and-so of a subject, or of one of its own."""
    ref = f"ENT-{number if subject is None else subject}"
    return Event(
        event_type=kind,
        source="birth_registry",
        source_key=ref,
        change_number=number,
        subject_table="birth_registry",
        subject_ref=ref,
        payload={"collection_name": "things", "change_number": number, **payload},
    )


def emit(connection: Connection, *batch: Event) -> Emitted:
    with transaction(connection, doing="emitting", role=WORKER):
        return emission.emit(connection, batch)


def outbox(admin: Connection) -> list[tuple[str, int]]:
    """Subjects and change numbers of what is in the outbox of ours, in the order in which it was written."""
    return [
        (str(ref), int(number))
        for ref, number in admin.execute(
            "SELECT event_subject_ref, safe_payload ->> 'change_number' FROM event_outbox"
            " WHERE event_domain = 'governance' ORDER BY created_at, id"
        )
    ]


def held(admin: Connection) -> int:
    """How many the host sees held, each a row of its own."""
    (rows, distinct) = one(
        admin,
        "SELECT count(*), count(DISTINCT capture_payload ->> 'event_id') FROM event_pending"
        " WHERE processed_at IS NULL AND actor_ref = 'oneroof' AND event_domain = 'governance'",
    )
    assert rows == distinct
    return int(rows)


def found(admin: Connection, issue_type: str) -> list[str]:
    return [each.subject for each in store.listing(admin) if each.issue_type == issue_type]


# Vocabulary and registry.


def test_the_vocabulary_is_in_our_table_and_not_yet_in_the_hosts(admin: Connection) -> None:
    """Installing writes nothing into the host's registry (doc 41 §41.4: none registered now)."""
    assert one(admin, "SELECT count(*) FROM event_type_registry WHERE event_domain = 'governance'") == (0,)
    listed = {each.event_type: each for each in event_types.listing(admin)}
    assert listed.keys() == {entry["event_type"] for entry in vocabulary.shipped()}
    assert not any(each.is_registered or each.is_active for each in listed.values())
    assert listed[BORN].payload_keys[:4] == ["object_type", "collection_name", "group_key", "change_kind"]
    assert (listed[BORN].event_stream, listed[ORPHAN].owner_hint) == ("governance.handoff", "GOV-COUNCIL")


def test_registering_is_idempotent_and_leaves_what_is_active(admin: Connection) -> None:
    """Some types, then all, then none that is new; what the host or two people made active stays so."""
    assert event_types.register(admin, ["governance.cursor.*"]) == sorted(
        entry["event_type"] for entry in vocabulary.shipped() if entry["family"] == "cursor"
    )
    admin.execute("UPDATE event_type_registry SET active = true WHERE event_type = 'governance.cursor.lag'")
    assert len(event_types.register(admin)) == len(vocabulary.shipped()) - 5
    before = admin.execute("SELECT *, ctid, xmin FROM event_type_registry ORDER BY ctid").fetchall()
    assert event_types.register(admin) == []
    assert admin.execute("SELECT *, ctid, xmin FROM event_type_registry ORDER BY ctid").fetchall() == before
    active = admin.execute("SELECT event_type FROM event_type_registry WHERE event_domain = 'governance' AND active")
    assert active.fetchall() == [("governance.cursor.lag",)]


def test_two_register_at_once(admin: Connection, installed_database: str) -> None:
    """The host may have no unique key: no type is there twice all the same."""
    admin.execute("ALTER TABLE event_type_registry DROP CONSTRAINT event_type_registry_pkey")

    def register() -> None:
        with connect(installed_database) as connection:
            event_types.register(connection)

    threads = [threading.Thread(target=register) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    twice = (
        "SELECT event_type FROM event_type_registry WHERE event_domain = 'governance' GROUP BY 1 HAVING count(*) > 1"
    )
    assert admin.execute(twice).fetchall() == []


@pytest.mark.parametrize("act", [event_types.register, event_types.deactivate])
def test_an_unknown_type_is_named_with_a_near_one(logins: Logins, act: Callable[..., Any]) -> None:
    """did you mean …?"""
    with pytest.raises(Usage, match=r"governance\.handoff\.object_bron") as caught:
        act(logins.requester, ["governance.handoff.object_bron"])
    assert caught.value.hint == f"did you mean {BORN}?"
    with pytest.raises(Usage, match=r"handoff\.object_born") as caught:
        event_types.request_activation(logins.requester, ["handoff.object_born"], reason="x")
    assert caught.value.hint == f"did you mean {BORN}?"


def test_nobody_activates_alone(logins: Logins) -> None:
    """The requester cannot approve, an edit voids, what is not registered or is active already is refused."""
    number = event_types.request_activation(logins.requester, [BORN, RETIRED], reason="x")
    request = requests.find(logins.admin, number)
    assert (request.request_kind, request.subject) == ("event.activate", f"{BORN} and 1 more")
    with pytest.raises(Refused, match="cannot also approve"):
        requests.decide(logins.requester, number, "approved")
    requests.decide(logins.approver, number, "approved")
    listed = {each.event_type: each for each in event_types.listing(logins.admin)}
    assert {name for name, each in listed.items() if each.is_active} == {BORN, RETIRED}
    assert (listed[BORN].requested_by, listed[BORN].approved_by) == ("requester", "approver")
    with pytest.raises(Refused, match="active already"):
        event_types.request_activation(logins.requester, [BORN, RETIRED], reason="again")

    edited = event_types.request_activation(logins.requester, [ORPHAN], reason="x")
    content = Jsonb({"event_types": [INCOMPLETE]})
    logins.admin.execute("UPDATE approval_requests SET content = %s WHERE id = %s", (content, edited))
    with pytest.raises(Refused, match="was edited"):
        requests.decide(logins.approver, edited, "approved")

    logins.admin.execute("DELETE FROM event_type_registry WHERE event_type = %s", (ORPHAN,))
    with pytest.raises(Refused, match=f"{ORPHAN} is not registered"):
        event_types.request_activation(logins.requester, [ORPHAN], reason="x")


@pytest.mark.parametrize(
    ("subject", "content"),
    [
        (BORN, {"event_types": [BORN, RETIRED]}),
        (BORN, {"event_types": BORN}),
        (BORN, {"event_types": [BORN], "also": 1}),
        (BORN, {}),
        ("", {"event_types": []}),
        ("iu.unit", {"event_types": ["iu.unit"]}),
        (f"{RETIRED} and 1 more", {"event_types": [RETIRED, BORN]}),
    ],
)
def test_a_request_says_what_it_does(logins: Logins, subject: str, content: dict[str, Any]) -> None:
    """Whoever approves reads the types that will be active, and no others."""
    with pytest.raises(Refused):
        requests.request(logins.requester, kind=event_types.KIND, subject=subject, content=content, reason="x")


def test_deactivating_takes_one_person_and_holds_what_comes_after(logins: Logins) -> None:
    """As closing a gate; the next activation promotes it."""
    logins.activate(BORN)
    assert emit(logins.worker, born(1)).emitted == 1
    with pytest.raises(Refused, match="no registered person"):
        event_types.deactivate(logins.admin, [BORN])
    assert event_types.deactivate(logins.requester, ["governance.handoff.*"], reason="enough") == [BORN]
    assert event_types.deactivate(logins.approver, [BORN]) == []
    assert emit(logins.worker, born(2)) == Emitted(0, 1, 0, 0)
    assert found(logins.admin, "handoff_unregistered_type") == [f"gov_emit:{BORN}"]
    logins.activate(BORN)
    assert found(logins.admin, "handoff_unregistered_type") == []
    assert emission.promote(logins.worker) == 1
    assert [number for _, number in outbox(logins.admin)] == [1, 2]


# Emitting, holding, promoting.


def test_doc41_11_1_register_before_emit(logins: Logins) -> None:
    """doc 41 §41.11 test 1: fifty events before the activation are held once and not emitted; after it each is
    promoted once, in order for each subject; again nothing happens.
    """
    batch = [born(number, subject=number % 7) for number in range(50)]
    assert emit(logins.worker, *batch) == Emitted(0, 50, 0, 0)
    assert emit(logins.worker, *batch) == Emitted(0, 0, 0, 50)
    assert (outbox(logins.admin), held(logins.admin)) == ([], 50)
    assert found(logins.admin, "handoff_unregistered_type") == [f"gov_emit:{BORN}"]
    assert emission.promote(logins.worker) == 0

    logins.activate(BORN)
    assert (len(outbox(logins.admin)), held(logins.admin)) == (0, 50)
    assert [emission.promote(logins.worker, BORN, most=20) for _ in range(4)] == [20, 20, 10, 0]
    written = outbox(logins.admin)
    assert len(written) == len(set(written)) == 50
    for subject in range(7):
        numbers = [number for ref, number in written if ref == f"ENT-{subject}"]
        assert numbers == sorted(numbers)
    assert (held(logins.admin), emission.promotable(logins.admin)) == (0, False)
    assert one(logins.admin, "SELECT count(*) FROM event_pending WHERE capture_payload ->> 'state' = 'promoted'") == (
        50,
    )
    assert found(logins.admin, "handoff_unregistered_type") == []
    assert emit(logins.worker, *batch) == Emitted(0, 0, 0, 50)
    assert emission.foreign(logins.admin) == []


def test_doc41_11_1_an_unregistered_type_is_held_and_told_once(logins: Logins) -> None:
    """doc 41 §41.11 test 1 and §41.9: registered or not, in the vocabulary or not: held, and one finding."""
    logins.admin.execute("DELETE FROM event_type_registry WHERE event_type = %s", (INCOMPLETE,))
    for _ in range(3):
        emit(logins.worker, *(born(n, kind="governance.thing.unheard_of") for n in range(5)))
        emit(logins.worker, *(_about_group(n) for n in range(5)))
    assert (outbox(logins.admin), held(logins.admin)) == ([], 10)
    assert sorted(found(logins.admin, "issue_event_gap")) == [
        f"gov_emit:{INCOMPLETE}",
        "gov_emit:governance.thing.unheard_of",
    ]
    assert event_types.strays(logins.admin) == {"governance.thing.unheard_of": 5}
    # The host makes it active by itself: of a type in no vocabulary nothing is emitted even so.
    logins.admin.execute(
        "INSERT INTO event_type_registry (event_domain, event_type, event_stream, description)"
        " VALUES ('governance', 'governance.thing.unheard_of', 'x', 'x')"
    )
    assert emit(logins.worker, born(9, kind="governance.thing.unheard_of")).held == 1
    assert emission.promote(logins.worker) == 0


def test_a_type_that_enters_the_vocabulary_later_keeps_its_rules(logins: Logins) -> None:
    """What was held of it goes by the keys that it now has: the rest is refused, and told."""
    emit(logins.worker, born(1, kind="governance.thing.new"), born(2, kind="governance.thing.new", worker="w"))
    elsewhere = Event(**{**_fields(born(3, kind="governance.thing.new")), "subject_table": "somewhere"})
    emit(logins.worker, elsewhere)
    entry = {**vocabulary.shipped()[0], "event_type": "governance.thing.new", "subject_table": "birth_registry"}
    logins.admin.execute("SELECT oneroof.gov_events_plant(%s)", (Jsonb([entry]),))
    event_types.register(logins.admin)
    logins.activate("governance.thing.new")
    assert emission.promote(logins.worker) == 3
    assert outbox(logins.admin) == [("ENT-1", 1)]
    assert held(logins.admin) == 0
    (finding,) = (each for each in store.listing(logins.admin) if each.issue_type == "input_invalid_schema")
    assert finding.subject == "gov_emit:governance.thing.new"
    assert finding.details["faults"] == [
        "subject_table: not the table that such events are about",
        "worker: not a key of such events",
    ]


def test_a_closed_gate_holds_what_is_active(logins: Logins) -> None:
    """governance.emit_enabled: signals may be written to event_outbox. That is no gap of the vocabulary."""
    logins.activate(BORN)
    gates.close(logins.requester, GATE)
    assert emit(logins.worker, born(1)) == Emitted(0, 1, 0, 0)
    assert emission.promote(logins.worker) == 0
    assert found(logins.admin, "handoff_unregistered_type") == []
    logins.open_gate()
    assert emission.promotable(logins.admin)
    assert emission.promote(logins.worker) == 1


def test_doc41_11_1_a_type_that_is_not_active_is_told_whatever_the_gate_says(logins: Logins) -> None:
    """doc 32 §5 step 5: one finding for each type that is not registered and active, also behind a closed gate; one
    that is active is none, though the gate holds it too. The activation closes it, and the gate is not asked.
    """
    admin = logins.admin
    logins.activate(RETIRED)
    gates.close(logins.requester, GATE)
    admin.execute("DELETE FROM event_type_registry WHERE event_type = %s", (INCOMPLETE,))
    for _ in range(2):
        emit(
            logins.worker, born(1), born(2), born(3, kind=RETIRED), _about_group(1), born(4, kind="governance.new.one")
        )
    assert (outbox(admin), held(admin)) == ([], 5)
    assert found(admin, "handoff_unregistered_type") == [f"gov_emit:{BORN}"]
    assert sorted(found(admin, "issue_event_gap")) == [f"gov_emit:{INCOMPLETE}", "gov_emit:governance.new.one"]
    assert {each.severity for each in store.listing(admin)} == {"low"}
    said = "SELECT event_type_hint, capture_payload ->> 'reason' FROM event_pending ORDER BY 1, 2"
    assert sorted(set(admin.execute(said).fetchall())) == [
        (BORN, "not active"),
        (RETIRED, "the gate governance.emit_enabled is closed"),
        (INCOMPLETE, "not active"),
        ("governance.new.one", "not in the vocabulary"),
    ]
    logins.activate(BORN)
    assert found(admin, "handoff_unregistered_type") == []
    assert emit(logins.worker, born(5)) == Emitted(0, 1, 0, 0)
    assert found(admin, "handoff_unregistered_type") == []


def test_a_type_that_the_host_makes_active_itself_is_no_gap_any_more(logins: Logins) -> None:
    """The switch is the host's: the next look sees that it was turned, and closes the finding."""
    admin = logins.admin
    emit(logins.worker, born(1), _about_group(1), born(2, kind="governance.new.one"))
    keys = [f"handoff_unregistered_type:gov_emit:{BORN}", f"issue_event_gap:gov_emit:{INCOMPLETE}"]
    assert watch(admin).cleared == []
    admin.execute("UPDATE event_type_registry SET active = true WHERE event_type = ANY (%s)", ([BORN, INCOMPLETE],))
    seen = watch(admin)
    assert (seen.cleared, seen.promoted) == (keys, 2)
    assert [each.subject for each in store.listing(admin)] == ["gov_emit:governance.new.one"]


def test_nothing_overtakes_what_is_about_to_be_promoted(logins: Logins) -> None:
    """A type that was activated a moment ago: new events of a subject wait behind its held ones, others do not."""
    emit(logins.worker, born(1, subject="a"), born(2, subject="a"))
    logins.activate(BORN, RETIRED)
    assert emit(logins.worker, born(3, subject="a", kind=RETIRED), born(4, subject="b")) == Emitted(1, 1, 0, 0)
    assert emission.promote(logins.worker) == 3
    assert emit(logins.worker, born(5, subject="a")) == Emitted(1, 0, 0, 0)
    assert [number for ref, number in outbox(logins.admin) if ref == "ENT-a"] == [1, 2, 3, 5]


def test_a_deactivation_waits_for_an_emit_in_flight(logins: Logins) -> None:
    """Two sessions: who emits has the type until it commits; who emits after it finds it inactive."""
    logins.activate(BORN)
    ended: list[list[str]] = []
    thread = threading.Thread(target=lambda: ended.append(event_types.deactivate(logins.requester, [BORN])))
    with transaction(logins.worker, doing="emitting", role=WORKER):
        assert emission.emit(logins.worker, [born(1)]).emitted == 1
        thread.start()
        _await_lock(logins.admin, logins.requester)
        assert emission.emit(logins.worker, [born(2)]).emitted == 1
        assert ended == []
    thread.join()
    assert ended == [[BORN]]
    assert emit(logins.worker, born(3)).held == 1
    assert len(outbox(logins.admin)) == 2


def test_who_emits_without_end_does_not_keep_a_deactivation_waiting(logins: Logins) -> None:
    """Whoever comes later queues behind who deactivates, and then finds the type inactive."""
    logins.activate(BORN)
    outcomes: list[Emitted] = []
    with connect(logins.dsn) as other:
        closing = threading.Thread(target=lambda: event_types.deactivate(logins.requester, [BORN]))
        emitting = threading.Thread(target=lambda: outcomes.append(emit(other, born(2))))
        with transaction(logins.worker, doing="emitting", role=WORKER):
            assert emission.emit(logins.worker, [born(1)]).emitted == 1
            closing.start()
            _await_lock(logins.admin, logins.requester)
            emitting.start()
            _await_lock(logins.admin, other)
        closing.join()
        emitting.join()
    assert outcomes == [Emitted(0, 1, 0, 0)]


def test_the_host_takes_a_type_away_itself_and_waits_too(logins: Logins) -> None:
    """A plain UPDATE of the registry's row waits for the lock of the row."""
    logins.activate(BORN)
    host = threading.Thread(target=lambda: logins.admin.execute("UPDATE event_type_registry SET active = false"))
    with transaction(logins.worker, doing="emitting", role=WORKER):
        assert emission.emit(logins.worker, [born(1)]).emitted == 1
        host.start()
        _await_lock(logins.requester, logins.admin)
    host.join()
    assert emit(logins.worker, born(2)).held == 1


def test_closing_the_gate_waits_for_an_emit_in_flight(logins: Logins) -> None:
    """When the command that closes it is back, nothing more is written."""
    logins.activate(BORN)
    thread = threading.Thread(target=lambda: gates.close(logins.requester, GATE))
    with transaction(logins.worker, doing="emitting", role=WORKER):
        assert emission.emit(logins.worker, [born(1)]).emitted == 1
        thread.start()
        _await_lock(logins.admin, logins.requester)
    thread.join()
    assert emit(logins.worker, born(2)).held == 1


def test_opening_the_gate_waits_for_who_holds_at_this_moment(logins: Logins) -> None:
    """Or what comes after it would overtake what nobody can see yet."""
    logins.activate(BORN)
    gates.close(logins.requester, GATE)
    number = gates.request(logins.requester, GATE, reason="wanted")
    opening = threading.Thread(target=lambda: requests.decide(logins.approver, number, "approved"))
    outcomes: list[Emitted] = []
    with connect(logins.dsn) as other:
        emitting = threading.Thread(target=lambda: outcomes.append(emit(other, born(2, subject="a"))))
        with transaction(logins.worker, doing="emitting", role=WORKER):
            assert emission.emit(logins.worker, [born(1, subject="a")]).held == 1
            opening.start()
            _await_lock(logins.admin, logins.approver)
            emitting.start()
            _await_lock(logins.admin, other)
        opening.join()
        emitting.join()
    assert outcomes == [Emitted(0, 1, 0, 0)]
    assert emission.promote(logins.worker) == 2
    assert [number for _, number in outbox(logins.admin)] == [1, 2]


@pytest.mark.parametrize("active", [True, False])
def test_the_same_batch_from_many_sessions_at_once(logins: Logins, active: bool) -> None:
    """Forwards and backwards, on a host without any unique key: each once, emitted or held."""
    logins.admin.execute("ALTER TABLE event_outbox DROP CONSTRAINT event_outbox_pkey")
    if active:
        logins.activate(BORN)
    batch = [born(number) for number in range(200)]
    outcomes: list[Emitted] = []
    failures: list[OneroofError] = []

    def work(order: int) -> None:
        with connect(logins.dsn) as connection:
            try:
                outcomes.append(emit(connection, *batch[::order]))
            except OneroofError as error:
                failures.append(error)

    threads = [threading.Thread(target=work, args=(order,)) for order in (1, -1, 1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sum(o.emitted + o.held for o in outcomes) == 200
    assert sum(o.known for o in outcomes) == 600
    assert (len(outbox(logins.admin)), held(logins.admin)) == ((200, 0) if active else (0, 200))


def test_a_rollback_takes_the_event_with_it(logins: Logins) -> None:
    """What was not committed was not emitted, and can be."""
    logins.activate(BORN)

    def fail() -> None:
        with transaction(logins.worker, doing="emitting", role=WORKER):
            emission.emit(logins.worker, [born(1)])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert emit(logins.worker, born(1)).emitted == 1


def test_doc41_11_4_no_lost_handoff_killed_between_batches_of_a_promotion(logins: Logins) -> None:
    """doc 41 §41.11 test 4, for what is held: a promotion that is killed is taken up by the next, each once."""
    emit(logins.worker, *(born(number, subject=number % 50) for number in range(3_000)))
    logins.activate(BORN)
    process = spawn("events", "promote", "--batch", "5", dsn=logins.dsn)
    eventually(lambda: outbox(logins.admin), what="the first batch")
    process.kill()
    process.communicate()
    eventually(lambda: _quiet(logins.admin), what="the killed session to end")
    done = len(outbox(logins.admin))
    assert 0 < done < 3_000
    assert held(logins.admin) == 3_000 - done
    assert command("events", "promote", "--json", dsn=logins.dsn).json == {"promoted": 3_000 - done}
    written = outbox(logins.admin)
    assert len(written) == len(set(written)) == 3_000
    for subject in range(50):
        numbers = [number for ref, number in written if ref == f"ENT-{subject}"]
        assert numbers == sorted(numbers)
    assert command("events", "promote", "--json", dsn=logins.dsn).json == {"promoted": 0}


def test_a_promotion_is_in_the_order_of_a_subject_whatever_types_it_has(logins: Logins) -> None:
    """Of one type what has something of another before it stays where it is; of several they take turns."""
    kinds = [RETIRED, BORN, ORPHAN]
    for number in range(9):
        kind = kinds[number % 3]
        event = born(number, subject="a", kind=kind) if kind != ORPHAN else _orphan(number)
        assert emit(logins.worker, event).held == 1
    logins.activate(*kinds)
    assert [emission.promote(logins.worker, kind) for kind in (BORN, RETIRED, RETIRED)] == [0, 1, 0]
    assert command("events", "promote", BORN, RETIRED, "--json", dsn=logins.dsn).json == {"promoted": 1}
    assert command("events", "promote", *kinds, "--json", dsn=logins.dsn).json == {"promoted": 7}
    types = logins.admin.execute(
        "SELECT event_type FROM event_outbox WHERE event_domain = 'governance' ORDER BY created_at, id"
    )
    assert [kind for (kind,) in types] == 3 * kinds


def test_two_promote_at_once(logins: Logins) -> None:
    """They take turns; each once, and in order."""
    emit(logins.worker, *(born(number, subject=number % 3) for number in range(300)))
    logins.activate(BORN)

    def work() -> None:
        with connect(logins.dsn) as connection:
            while emission.promote(connection, most=7):
                pass

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = outbox(logins.admin)
    assert len(written) == len(set(written)) == 300
    assert [number for ref, number in written if ref == "ENT-1"] == list(range(1, 300, 3))


# What an event may say.


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        ({"contents": "the whole of it"}, "contents"),
        ({"group_key": {"nested": "the whole of it"}}, "group_key"),
        ({"group_key": ["the whole of it"]}, "group_key"),
        ({"group_key": "the whole of it" + 250 * "x"}, "group_key"),
        ({"owner_ref": "the whole of it"}, "owner_ref"),
        (dict.fromkeys(vocabulary.shipped()[0]["payload_keys"], "the whole of it" + 235 * "đ"), "payload"),
        (["the whole of it"], "payload"),
        ("the whole of it", "payload"),
    ],
    ids=["contents", "nested", "array", "long", "unknown", "large", "no object", "text"],
)
@pytest.mark.parametrize("active", [True, False])
def test_doc41_11_2_signal_not_data(logins: Logins, payload: Any, named: str, active: bool) -> None:
    """doc 41 §41.11 test 2, doc 32 §7: whatever is more than addresses, refs and counts is refused: neither emitted nor
    held, one finding that names the type and the key, and not what it said. The rest of the batch goes its way.
    """
    if active:
        logins.activate(BORN)
    bad = Event(**{**_fields(born(1)), "payload": payload})
    for _ in range(2):
        assert emit(logins.worker, bad).refused == 1
    assert emit(logins.worker, born(2), bad, born(3)) == (Emitted(2, 0, 1, 0) if active else Emitted(0, 2, 1, 0))
    assert (len(outbox(logins.admin)), held(logins.admin)) == ((2, 0) if active else (0, 2))
    (finding,) = (each for each in store.listing(logins.admin) if each.issue_type == "input_invalid_schema")
    assert finding.subject == f"gov_emit:{BORN}"
    assert str(finding.details["faults"][0]).startswith(f"{named}:")
    stored = logins.admin.execute(
        " UNION ALL ".join(
            f"SELECT to_jsonb(t)::text FROM {table} AS t"
            for table in ("system_issues", "event_pending", "event_outbox", "oneroof.governance_event")
        )
    )
    assert [text for (text,) in stored if "the whole of it" in text] == []


@pytest.mark.parametrize(
    "change",
    [
        {"contents": "x"},
        {"payload_classification": "restricted"},
        {"source_key": None},
        {"change_number": None},
        {"subject_ref": None},
        {"subject_ref": "x" * 2001},
        {"subject_table": "x" * 64},
        {"severity": "worst"},
        {"event_type": "iu.unit_created"},
        {"event_type": "governance.Handoff"},
        {"event_type": None},
        {"correlation_id": "x" * 257},
    ],
    ids=str,
)
def test_what_is_no_event_is_refused(logins: Logins, change: dict[str, Any]) -> None:
    """One domain, an address, an id, and nothing beside."""
    part = {**born(1).part(), **change}
    row = one(logins.admin, "SELECT * FROM oneroof.gov_emit(%s)", (Jsonb([part, 7, "x"]),))
    assert row == (0, 0, 3, 0)
    assert (outbox(logins.admin), held(logins.admin)) == ([], 0)
    assert 1 <= len(found(logins.admin, "input_invalid_schema")) <= 2


def test_events_are_an_array(logins: Logins) -> None:
    """Anything else is the caller's mistake."""
    wrongs: list[Any] = [{}, 1, None]
    for wrong in wrongs:
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="array"):
            logins.admin.execute("SELECT * FROM oneroof.gov_emit(%s)", (Jsonb(wrong),))
    assert one(logins.admin, "SELECT * FROM oneroof.gov_emit('[]')") == (0, 0, 0, 0)


def test_doc41_5_subject_addressing(logins: Logins) -> None:
    """doc 41 §41.5: table and ref of the subject, the address from collection and code, safe metadata, our mark."""
    logins.activate(BORN, INCOMPLETE)
    emit(logins.worker, born(1), _about_group(1), born(2, kind=INCOMPLETE))
    rows = logins.admin.execute(
        "SELECT event_type, event_stream, delivery_lane, event_severity, event_subject_table, event_subject_ref,"
        " canonical_address, actor_ref, source_system, payload_classification, event_domain FROM event_outbox"
        " WHERE event_domain = 'governance' ORDER BY created_at"
    ).fetchall()
    marks = ("oneroof", "oneroof", "safe_metadata", "governance")
    state = "governance_candidate_state"
    assert rows == [
        (BORN, "governance.handoff", "immediate", "info", "birth_registry", "ENT-1", "things:ENT-1", *marks),
        (INCOMPLETE, "governance.input", "immediate", "medium", state, "g/1", f"{state}:g/1", *marks),
    ]
    # An input event is about candidates, and nothing else.
    assert found(logins.admin, "input_invalid_schema") == [f"gov_emit:{INCOMPLETE}"]


def test_an_id_follows_from_the_change_and_from_nothing_else(logins: Logins) -> None:
    """Source, key, change number and type: neither the moment nor the payload nor the order make another event."""
    logins.activate(BORN, RETIRED)
    assert emit(logins.worker, born(1), born(1, group_key="other")) == Emitted(1, 0, 0, 1)
    assert emit(logins.worker, born(1, kind=RETIRED), born(2, subject=1)) == Emitted(2, 0, 0, 0)
    (first,) = one(logins.admin, "SELECT id::text FROM event_outbox WHERE event_type = %s ORDER BY created_at", (BORN,))
    assert one(logins.admin, "SELECT oneroof.gov_event_id('birth_registry', 'ENT-1', 1, %s)::text", (BORN,)) == (first,)
    assert first[14] == "8"


def test_what_an_earlier_installation_emitted_is_not_emitted_again(logins: Logins) -> None:
    """Our tables are gone and made anew; the outbox stays as it is."""
    logins.activate(BORN)
    emit(logins.worker, born(1), born(2))
    logins.admin.execute("DELETE FROM oneroof.governance_event")
    logins.admin.execute("SELECT oneroof.gov_events_plant('[]')")
    assert emit(logins.worker, born(1), born(2), born(3)) == Emitted(1, 0, 0, 2)
    assert emission.foreign(logins.admin) == []


def test_uninstalled_and_installed_again(lone_bed: Bed) -> None:
    """What is left in the host's channels misleads nobody: no type is active, nothing is held; and nothing is emitted
    again.
    """
    with lone_bed.database(lone_bed.installed()) as name, ExitStack() as stack:
        users = ("postgres", "postgres", "requester", "approver")
        logins = Logins(lone_bed.dsn(name), *(stack.enter_context(connect(lone_bed.dsn(name, user=u))) for u in users))
        logins.open_gate()
        event_types.register(logins.admin)
        logins.activate(BORN)
        assert emit(logins.worker, born(1), born(2, kind=RETIRED)) == Emitted(1, 1, 0, 0)
        assert channel_export.remaining(logins.admin).keys() >= {"event_outbox", "event_pending", "event_type_registry"}
        migrate.uninstall(logins.admin, settings=SETTINGS)
        active = "SELECT count(*) FROM event_type_registry WHERE event_domain = 'governance' AND active"
        assert one(logins.admin, active) == (0,)
        state = "SELECT capture_payload ->> 'state', processed_at IS NOT NULL FROM event_pending"
        assert one(logins.admin, state) == ("left", True)
        migrate.install(logins.admin, settings=SETTINGS)
        assert emit(logins.worker, born(1)) == Emitted(0, 0, 0, 1)
        assert emission.foreign(logins.admin) == []


# What signals are not.


def test_doc41_11_5_an_event_is_not_a_job(logins: Logins) -> None:
    """doc 41 §41.11 test 5, promise 20: a signal changes nothing but the outbox and our own note of it, and no role of
    ours writes job_queue or event_outbox itself.
    """
    logins.activate(BORN)
    counts = "SELECT relname, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables"
    one(logins.admin, "SELECT pg_stat_force_next_flush()")
    before: dict[str, int] = dict(logins.admin.execute(counts).fetchall())
    emit(logins.worker, *(born(number) for number in range(10)))
    one(logins.worker, "SELECT pg_stat_force_next_flush()")

    def changed() -> dict[str, int]:
        now: dict[str, int] = dict(logins.admin.execute(counts).fetchall())
        return {name: now[name] - before.get(name, 0) for name in now if now[name] != before.get(name, 0)}

    eventually(lambda: "event_outbox" in changed(), what="the statistics")
    assert changed() == {"event_outbox": 10, "governance_event": 10}
    for role in ("worker", "operator", "approver", "executor", "reader", "console"):
        for table in ("event_outbox", "job_queue", "event_pending", "event_type_registry"):
            with (
                pytest.raises(Refused, match="permission denied"),
                transaction(logins.admin, doing="trying", role=f"oneroof_{role}"),
            ):
                logins.admin.execute(f"INSERT INTO public.{table} DEFAULT VALUES")


def test_doc41_11_3_birth_untouched(logins: Logins) -> None:
    """doc 41 §41.11 test 3: option A: no trigger of ours on birth_registry or any other table of the host."""
    triggers = "SELECT tgrelid::regclass::text, proname FROM pg_trigger JOIN pg_proc AS p ON p.oid = tgfoid"
    ours = {str(table) for table, function in logins.admin.execute(triggers) if str(function).startswith("gov_")}
    assert ours == {"oneroof.gov_worker_cursor", "oneroof.governance_candidate_state"}


def test_doc41_11_8_one_domain(logins: Logins) -> None:
    """doc 41 §41.11 test 8: everything of ours is in the domain governance; the host's domains are as they were."""
    assert logins.admin.execute(
        "SELECT event_domain, count(*) FROM event_type_registry GROUP BY 1 ORDER BY 1"
    ).fetchall() == [
        ("governance", len(vocabulary.shipped())),
        ("iu", 16),
        ("mother", 9),
        ("piece", 6),
        ("staging", 5),
        ("system", 4),
    ]


SEEN = (
    "SELECT events_seen FROM oneroof.gov_worker_cursor"
    " WHERE worker_name = 'gov_handoff_intake' AND source_name = 'event_outbox'"
)


def test_our_own_signals_start_no_work(logins: Logins) -> None:
    """event_outbox is a source too: every row that gov_emit writes has the mark by which the tail passes it over."""
    logins.activate(BORN)
    emit(logins.worker, born(1), born(2))
    tailed = next(each for each in registration.listing(logins.admin) if each.source_name == "event_outbox")
    marked = is_own(tailed).as_string(logins.admin)
    owned = logins.admin.execute(f"SELECT event_domain FROM event_outbox AS s WHERE {marked}").fetchall()
    assert owned == [("governance",), ("governance",)]


def test_our_own_signals_are_left_to_the_frontier_who_counts_them(logins: Logins) -> None:
    """A burst of them is no news, and the fast lane remembers none; a row of somebody else's among them it finds."""
    admin = logins.admin
    logins.activate(BORN)
    tailed = registration.find(admin, "event_outbox")
    judging.intake(admin, tailed)
    before = one(admin, SEEN)
    emit(logins.worker, *(born(number) for number in range(500)))
    inventory.settle(admin)
    held = claim(admin, executor_name(handoff_intake.NAME, "event_outbox"), instance="here", ttl=600)
    intake = HandoffIntake(admin, tailed, held, sweep_interval=3600)
    remembered = (
        "SELECT count(*) FROM oneroof.governance_open_span AS r JOIN oneroof.gov_worker_cursor USING (cursor_id)"
    )
    remembered += " WHERE source_name = 'event_outbox'"
    admin.execute("DELETE FROM oneroof.governance_open_span")
    assert intake.run_once().seen == 0
    assert (one(admin, remembered), one(admin, SEEN)) == ((0,), before)
    columns = "event_domain, event_type, event_stream, delivery_lane, event_subject_table, canonical_address, actor_ref"
    admin.execute(
        f"INSERT INTO event_outbox ({columns}, source_system) SELECT {columns}, 'host' FROM event_outbox LIMIT 1"
    )
    assert intake.run_once().seen == 1
    release(admin, held)
    judging.intake(admin, tailed)
    assert one(admin, SEEN) == (before[0] + 501,)


def test_what_gov_emit_did_not_write_is_found(logins: Logins) -> None:
    """Whoever owns the table can write it: a row of our domain or with our mark, an altered one, and one that is there
    twice are named, and `oneroof events foreign` exits 1.
    """
    logins.activate(BORN)
    emit(logins.worker, *(born(number) for number in range(4)))
    assert command("events", "foreign", dsn=logins.dsn).code == 0
    copy = "event_domain, event_type, event_stream, delivery_lane, event_subject_table, canonical_address"
    forged = f"INSERT INTO event_outbox ({copy}, actor_ref, source_system) SELECT {copy}, 'x', 'x' FROM event_outbox"
    logins.admin.execute(f"{forged} WHERE event_subject_ref = 'ENT-1'")
    logins.admin.execute(
        "UPDATE event_outbox SET source_system = 'oneroof' WHERE event_domain = 'iu' AND id IN"
        " (SELECT id FROM event_outbox WHERE event_domain = 'iu' LIMIT 1)"
    )
    logins.admin.execute("UPDATE event_outbox SET safe_payload = '{\"contents\": 1}' WHERE event_subject_ref = 'ENT-2'")
    logins.admin.execute("ALTER TABLE event_outbox DROP CONSTRAINT event_outbox_pkey")
    logins.admin.execute("INSERT INTO event_outbox SELECT * FROM event_outbox WHERE event_subject_ref = 'ENT-3'")
    ran = command("events", "foreign", "--json", dsn=logins.dsn)
    assert ran.code == 1
    assert sorted(row["reason"] for row in ran.json) == [
        "altered since gov_emit wrote it",
        "not written by gov_emit",
        "not written by gov_emit",
        "written more than once",
        "written more than once",
    ]


def _orphan(number: int) -> Event:
    return Event(
        event_type=ORPHAN,
        source="birth_registry",
        source_key="ENT-a",
        change_number=number,
        subject_table="birth_registry",
        subject_ref="ENT-a",
    )


def _about_group(number: int) -> Event:
    return Event(
        event_type=INCOMPLETE,
        source="gov_input_gate",
        source_key=f"g/{number}",
        change_number=1,
        subject_ref=f"g/{number}",
        payload={"input_quality_state": "incomplete", "count": number},
    )


def _fields(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in Event.__slots__}


def _await_lock(admin: Connection, waiting: Connection) -> None:
    """Wait until a session waits for a lock."""
    asked = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
    eventually(lambda: one(admin, asked, (waiting.info.backend_pid,))[0], what="the other session to wait")


def _quiet(admin: Connection) -> bool:
    asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'oneroof'"
    return one(admin, asked) == (0,)
