"""A signal that the host's outbox refuses stays, is tried again, and stops nobody (doc 41 §41.9, promise 10)."""

from __future__ import annotations

import pytest

from bed import command, set_clock
from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.findings import store
from oneroof.runtime.watch import watch
from oneroof.signals import emission, event_types
from oneroof.signals.emission import Emitted, Event
from telling import bear, hand_off, signals, swept

BORN = "governance.handoff.object_born"
WORKER = "oneroof_worker"
CHECK = "ALTER TABLE event_outbox ADD CONSTRAINT no CHECK (event_subject_ref NOT LIKE '%-3') NOT VALID"
TRIGGER = """
CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF NEW.event_subject_ref LIKE '%-3' THEN RAISE 'not this one'; END IF; RETURN NEW; END $$;
CREATE TRIGGER no BEFORE INSERT ON event_outbox FOR EACH ROW EXECUTE FUNCTION no()"""
REFUSALS = {
    "a constraint": (CHECK, "ALTER TABLE event_outbox DROP CONSTRAINT no"),
    "a trigger": (TRIGGER, "DROP FUNCTION no() CASCADE"),
}
refusing = pytest.mark.parametrize(("refuse", "relent"), REFUSALS.values(), ids=REFUSALS)


def born(number: int) -> Event:
    return Event(
        event_type=BORN,
        source="birth_registry",
        source_key=f"ENT-{number}",
        change_number=1,
        subject_table="birth_registry",
        subject_ref=f"ENT-{number}",
    )


def emit(connection: Connection, *batch: Event) -> Emitted:
    with transaction(connection, doing="emitting", role=WORKER):
        return emission.emit(connection, batch)


def outbox(admin: Connection) -> list[str]:
    rows = admin.execute(
        "SELECT event_subject_ref FROM event_outbox WHERE event_type = %s ORDER BY created_at", (BORN,)
    )
    return [str(ref) for (ref,) in rows]


def refused(admin: Connection) -> list[str]:
    return [each.subject for each in store.listing(admin) if each.issue_type == "signal_refused"]


@refusing
def test_doc41_9_what_the_outbox_refuses_is_kept_and_the_rest_is_emitted(
    logins: Logins, refuse: str, relent: str
) -> None:
    """Whoever emits goes on; the promotion finds the one, puts it aside with the error and a finding, and tries it
    again when some time has passed. Each once.
    """
    admin = logins.admin
    logins.activate(BORN)
    admin.execute(refuse)
    assert emit(logins.worker, *(born(n) for n in range(8))) == Emitted(0, 8, 0, 0)
    assert emit(logins.worker, *(born(n) for n in range(8))) == Emitted(0, 0, 0, 8)
    assert outbox(admin) == []
    while watch(admin).promoted:
        pass
    assert outbox(admin) == [f"ENT-{n}" for n in range(8) if n != 3]
    assert refused(admin) == [f"event_outbox:{BORN}"]
    assert command("watch", "--once", dsn=logins.dsn).code == 1
    kept = "SELECT entity_ref, error_count, capture_payload ->> 'state' FROM event_pending WHERE processed_at IS NULL"
    assert admin.execute(kept).fetchall() == [("ENT-3", 1, "stuck")]
    (said,) = one(admin, "SELECT last_error FROM event_pending WHERE processed_at IS NULL")
    assert "not this one" in said or "violates check constraint" in said
    assert emit(logins.worker, born(9)) == Emitted(1, 0, 0, 0)
    assert (watch(admin).promoted, emission.promote(logins.worker)) == (0, 0)

    set_clock(admin, "6 minutes")
    assert watch(admin).promoted == 1
    assert admin.execute(kept).fetchall() == [("ENT-3", 2, "stuck")]
    admin.execute(relent)
    assert watch(admin).promoted == 0
    set_clock(admin, "12 minutes")
    assert watch(admin).promoted == 1
    assert outbox(admin) == [*(f"ENT-{n}" for n in range(8) if n != 3), "ENT-9", "ENT-3"]
    assert watch(admin).cleared == [f"signal_refused:event_outbox:{BORN}"]
    assert admin.execute(kept).fetchall() == []
    assert emission.foreign(admin) == []


@refusing
def test_objects_are_told_of_though_the_outbox_refuses_one(logins: Logins, refuse: str, relent: str) -> None:
    """The lane that tells is not stopped by it, and nothing of it is untold."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    swept(admin)
    bear(admin, 1, 6)
    hand_off(admin)
    admin.execute(refuse)
    assert one(admin, "SELECT oneroof.gov_objects_emit('birth_registry', 100, false)") == (6,)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_untold") == (0,)
    assert command("events", "promote", "--json", dsn=logins.dsn).json == {"promoted": 6}
    assert [ref for *_, ref, _ in signals(admin)] == [f"things:T-{n}" for n in (1, 2, 4, 5, 6)]
    admin.execute(relent)
    set_clock(admin, "6 minutes")
    assert command("events", "promote", "--json", dsn=logins.dsn).json == {"promoted": 1}
    assert {ref for *_, ref, _ in signals(admin)} == {f"things:T-{n}" for n in range(1, 7)}


def test_a_type_that_the_outbox_refuses_whole_does_not_keep_others_waiting(logins: Logins) -> None:
    """However many there are: each is put aside once, and what stands behind them is emitted."""
    admin = logins.admin
    other = "governance.handoff.object_retired"
    assert emit(logins.worker, *(born(n) for n in range(300))).held == 300
    later = [
        Event(**{**{s: getattr(born(n), s) for s in Event.__slots__}, "event_type": other}) for n in range(400, 403)
    ]
    assert emit(logins.worker, *later).held == 3
    logins.activate(BORN, other)
    admin.execute(f"ALTER TABLE event_outbox ADD CONSTRAINT no CHECK (event_type <> '{BORN}') NOT VALID")
    assert command("events", "promote", "--json", dsn=logins.dsn).json == {"promoted": 303}
    counted = "SELECT count(*) FROM oneroof.governance_event WHERE state = 'stuck'"
    assert one(admin, counted) == (300,)
    assert one(admin, "SELECT count(*) FROM event_outbox WHERE event_type = %s", (other,)) == (3,)
    assert next(each.held for each in event_types.listing(admin) if each.event_type == BORN) == 300
