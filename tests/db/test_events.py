"""Signals: registered before emitted, addresses and counts alone, each once (doc 41, promises 17, 18 and 20)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from bed import as_user, connect
from oneroof import approvals, events, gates
from oneroof.db import Connection, one, transaction
from oneroof.events import Emitted, Event

BORN = "governance.handoff.object_born"
ORPHAN = "governance.coverage.orphan"
WORKER = "oneroof_worker"


@dataclass
class Logins:
    """One connection per login of the estate, and one that is a worker's."""

    dsn: str
    admin: Connection
    worker: Connection
    requester: Connection
    approver: Connection

    def activate(self, *types: str) -> int:
        """Two people, and the gate if it is closed."""
        number = events.request_activation(self.requester, types, reason="wanted")
        approvals.decide(self.approver, number, "approved")
        return number

    def open_gate(self) -> None:
        number = gates.request(self.requester, "governance.emit_enabled", reason="wanted")
        approvals.decide(self.approver, number, "approved")


@pytest.fixture
def logins(installed_database: str) -> Iterator[Logins]:
    with ExitStack() as stack:

        def login(user: str) -> Connection:
            return stack.enter_context(connect(as_user(installed_database, user)))

        made = Logins(
            dsn=installed_database,
            admin=stack.enter_context(connect(installed_database)),
            worker=stack.enter_context(connect(installed_database)),
            requester=login("requester"),
            approver=login("approver"),
        )
        made.open_gate()
        events.register(made.admin)
        yield made


def born(number: int, *, subject: int | None = None, kind: str = BORN, **payload: object) -> Event:
    """The event that an object was born, of one of a few subjects."""
    ref = f"ENT-{number if subject is None else subject}"
    return Event(
        event_type=kind,
        source="birth_registry",
        source_key=ref,
        change_number=number,
        subject_table="birth_registry",
        subject_ref=ref,
        payload={"collection_name": "things", "change_kind": "object_born", **payload},
    )


def emit(connection: Connection, *batch: Event) -> Emitted:
    with transaction(connection, doing="emitting", role=WORKER):
        return events.emit(connection, batch)


def outbox(admin: Connection) -> list[tuple[str, str | None]]:
    """What is there of ours, in the order in which it was written."""
    return admin.execute(
        "SELECT event_type, event_subject_ref FROM event_outbox WHERE event_domain = 'governance' ORDER BY created_at, id"
    ).fetchall()


def test_fifty(logins: Logins) -> None:
    assert emit(logins.worker, *(born(n) for n in range(50))) == Emitted(0, 50, 0, 0)
    assert outbox(logins.admin) == []
    logins.activate(BORN)
    print(one(logins.admin, "SELECT to_jsonb(p) FROM event_pending p LIMIT 1"))
    assert events.promote(logins.worker, BORN, most=30) == 30
    assert events.promote(logins.worker, BORN, most=30) == 20
    assert events.promote(logins.worker, BORN, most=30) == 0
    print(one(logins.admin, "SELECT to_jsonb(p) FROM event_pending p LIMIT 1"))
    print(one(logins.admin, "SELECT to_jsonb(p) FROM event_outbox p WHERE event_domain='governance' LIMIT 1"))
    assert emit(logins.worker, *(born(n) for n in range(52))) == Emitted(2, 0, 0, 50)
    assert events.foreign(logins.admin) == []
    print(
        emit(logins.worker, born(60, contents="x")),
        one(
            logins.admin,
            "select to_jsonb(s) from system_issues s where source_system='oneroof' order by id desc limit 1",
        ),
    )
