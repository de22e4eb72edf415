"""Whose events are emitted: those of sources that two people trust, and of workers; the others wait (doc 32 §7)."""

from __future__ import annotations

import threading

import pytest
from psycopg import sql

from bed import connect, eventually
from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.findings import store
from oneroof.people import requests
from oneroof.signals import emission
from oneroof.signals.emission import Emitted, Event
from oneroof.sources import registration

BORN = "governance.handoff.object_born"
WORKER = "oneroof_worker"


def said(number: int, *, by: str, **payload: object) -> Event:
    return Event(
        event_type=BORN,
        source=by,
        source_key=f"K-{number}",
        change_number=1,
        subject_table="birth_registry",
        subject_ref=f"ENT-{number}",
        payload={"collection_name": "things", **payload},
    )


def emit(connection: Connection, *batch: Event) -> Emitted:
    with transaction(connection, doing="emitting", role=WORKER):
        return emission.emit(connection, batch)


def outbox(admin: Connection) -> list[str]:
    rows = admin.execute(
        "SELECT event_subject_ref FROM event_outbox WHERE event_domain = 'governance' ORDER BY created_at, id"
    )
    return [str(ref) for (ref,) in rows]


def flagged(admin: Connection) -> list[str]:
    return [each.subject for each in store.listing(admin) if each.issue_type == "input_untrusted_source"]


def trust(logins: Logins, name: str) -> None:
    requests.decide(logins.approver, registration.request_trust(logins.requester, name, reason="known"), "approved")


def add(logins: Logins, name: str) -> None:
    logins.admin.execute(sql.SQL("CREATE TABLE {} (id int PRIMARY KEY)").format(sql.Identifier(name)))
    registration.add(logins.admin, name, key=["id"])


@pytest.mark.parametrize("payload", [{}, {"source": "birth_registry"}], ids=["none", "another's"])
def test_doc32_7_an_unknown_source_is_captured_and_flagged_and_emitted_when_it_is_trusted(
    logins: Logins, payload: dict[str, object]
) -> None:
    """Nobody has heard of it: kept once, one finding, nothing emitted, neither by adding it. Two people release it,
    whatever its events say of where they come from; the rest of the batch does not wait.
    """
    admin = logins.admin
    logins.activate(BORN)
    strange = [said(n, by="stranger", **payload) for n in range(3)]
    assert emit(logins.worker, *strange, said(9, by="birth_registry")) == Emitted(1, 3, 0, 0)
    assert emit(logins.worker, *strange) == Emitted(0, 0, 0, 3)
    assert (outbox(admin), emission.promote(logins.worker)) == (["ENT-9"], 0)
    assert flagged(admin) == ["handoff:stranger"]
    reasons = "SELECT DISTINCT capture_payload ->> 'reason' FROM event_pending WHERE processed_at IS NULL"
    assert admin.execute(reasons).fetchall() == [("the source is not trusted",)]
    add(logins, "stranger")
    assert (emission.promote(logins.worker), emit(logins.worker, said(3, by="stranger")).held) == (0, 1)
    assert flagged(admin) == ["handoff:stranger"]
    trust(logins, "stranger")
    assert flagged(admin) == []
    assert emission.promote(logins.worker) == 4
    assert outbox(admin) == ["ENT-9", "ENT-0", "ENT-1", "ENT-2", "ENT-3"]
    assert emit(logins.worker, *strange, said(5, by="stranger")) == Emitted(1, 0, 0, 3)
    assert emission.foreign(admin) == []


def test_doc32_7_an_untrusted_source_of_another_name_stays_where_it_is(logins: Logins) -> None:
    """Trust in one source releases what came from it, and nothing of another that names it in its payload."""
    admin = logins.admin
    logins.activate(BORN)
    for name in ("one", "other"):
        add(logins, name)
        assert emit(logins.worker, said(len(name), by=name, source="one")) == Emitted(0, 1, 0, 0)
    assert sorted(flagged(admin)) == ["handoff:one", "handoff:other"]
    trust(logins, "one")
    assert emission.promote(logins.worker) == 1
    assert (outbox(admin), flagged(admin)) == (["ENT-3"], ["handoff:other"])


def test_our_own_workers_are_known_and_nobody_who_calls_a_table_like_one(logins: Logins) -> None:
    """Whoever has a policy is a worker; a source of that name has to be trusted like any other."""
    admin = logins.admin
    logins.activate(BORN)
    workers = [
        str(name) for (name,) in admin.execute("SELECT worker_name FROM oneroof.governance_worker_policy ORDER BY 1")
    ]
    assert emit(logins.worker, *(said(n, by=name) for n, name in enumerate(workers))).emitted == len(workers) == 5
    assert emit(logins.worker, said(7, by="gov_worker_of_nobody"), said(8, by="oneroof")) == Emitted(0, 2, 0, 0)
    add(logins, "gov_input_gate")
    assert emit(logins.worker, said(9, by="gov_input_gate")) == Emitted(0, 1, 0, 0)


def test_a_type_that_is_not_active_is_told_though_its_source_is_not_trusted(logins: Logins) -> None:
    """Both findings: neither an activation nor trust alone would let it out."""
    admin = logins.admin
    assert emit(logins.worker, said(1, by="stranger")).held == 1
    assert sorted(each.issue_type for each in store.listing(admin)) == [
        "handoff_unregistered_type",
        "input_untrusted_source",
    ]
    logins.activate(BORN)
    assert emission.promote(logins.worker) == 0


def test_trust_waits_for_who_emits_at_this_moment(logins: Logins) -> None:
    """What was kept by a transaction that was not over yet would otherwise be kept for ever."""
    logins.activate(BORN)
    add(logins, "late")
    number = registration.request_trust(logins.requester, "late", reason="known")
    deciding = threading.Thread(target=lambda: requests.decide(logins.approver, number, "approved"))
    with transaction(logins.worker, doing="emitting", role=WORKER):
        assert emission.emit(logins.worker, [said(1, by="late")]).held == 1
        deciding.start()
        _await_lock(logins.admin, logins.approver)
    deciding.join()
    assert emission.promote(logins.worker) == 1
    assert emit(logins.worker, said(2, by="late")).emitted == 1
    assert outbox(logins.admin) == ["ENT-1", "ENT-2"]


def test_trust_waits_for_who_takes_changes_in_at_this_moment(logins: Logins) -> None:
    """Or their class would never be marked: they were kept by who still found nobody that trusts them."""
    admin = logins.admin
    admin.execute("UPDATE oneroof.governance_source SET trusted_at = NULL WHERE source_name = 'registry_changelog'")
    number = registration.request_trust(logins.requester, "registry_changelog", reason="known")
    deciding = threading.Thread(target=lambda: requests.decide(logins.approver, number, "approved"))
    change = """[{"row": {"action": "certify"}, "class": "things", "ref": "x", "born": true, "many": 1,
                  "at": "2026-03-01", "start": "2026-03-01", "ends": "2026-03-02"}]"""
    with transaction(logins.worker, doing="taking", role=WORKER):
        one(logins.worker, "SELECT oneroof.gov_changes_take('registry_changelog', false, %s)", (change,))
        deciding.start()
        _await_lock(admin, logins.approver)
    deciding.join()
    marked = "SELECT class, dirty FROM oneroof.governance_group_mark"
    assert admin.execute(marked).fetchall() == [("things", True)]


def test_another_table_of_the_same_name_is_not_trusted_for_it(logins: Logins) -> None:
    """Two people have vouched for a table, not for what it is called."""
    admin = logins.admin
    add(logins, "twice")
    trust(logins, "twice")
    assert registration.find(admin, "twice").is_trusted
    registration.add(admin, "twice", key=["id"])
    assert registration.find(admin, "twice").is_trusted
    admin.execute("DROP TABLE twice")
    add(logins, "twice")
    assert not registration.find(admin, "twice").is_trusted


def _await_lock(admin: Connection, waiting: Connection) -> None:
    """Wait until a session waits for a lock."""
    asked = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
    with connect(admin.info.dsn) as looking:
        eventually(lambda: one(looking, asked, (waiting.info.backend_pid,))[0], what="the other session to wait")
