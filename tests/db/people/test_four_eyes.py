"""Promise 21: two people or nothing. Identity is the login; no role, superuser or edit gets round it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bed import SETTINGS, Bed, as_user, connect
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import OneroofError, Refused
from oneroof.install import migrate
from oneroof.people import directory, gates, requests

GATE = "governance.workers_enabled"


@dataclass
class Logins:
    """One connection per login of the estate."""

    dsn: str
    admin: Connection
    requester: Connection
    requester_alt: Connection
    approver: Connection
    viewer: Connection

    def is_open(self, gate: str = GATE) -> bool:
        return next(g.is_open for g in gates.listing(self.admin) if g.gate_key == gate)

    def state(self, gate: str = GATE) -> str:
        return next(g.state for g in gates.listing(self.admin) if g.gate_key == gate)

    def open(self, gate: str = GATE) -> int:
        request = gates.request(self.requester, gate, reason="needed")
        requests.decide(self.approver, request, "approved")
        return request


@pytest.fixture
def logins(installed_database: str) -> Iterator[Logins]:
    with ExitStack() as stack:

        def login(user: str) -> Connection:
            return stack.enter_context(connect(as_user(installed_database, user)))

        yield Logins(
            dsn=installed_database,
            admin=stack.enter_context(connect(installed_database)),
            requester=login("requester"),
            requester_alt=login("requester_alt"),
            approver=login("approver"),
            viewer=login("viewer"),
        )


def test_a_gate_opens_when_another_person_approves(logins: Logins) -> None:
    """requester asks, approver approves, the gate is open; until then it is closed."""
    request = gates.request(logins.requester, GATE, reason="go live")
    assert not logins.is_open()
    decided = requests.decide(logins.approver, request, "approved")
    assert (decided.state, decided.requester, decided.decider) == ("approved", "requester", "approver")
    assert logins.is_open()


@pytest.mark.parametrize(
    ("who", "why"),
    [
        ("requester", "who cannot also approve it"),
        ("requester_alt", "login requester_alt is the same person"),
        ("viewer", "permission denied|is not approver"),
        ("admin", "login postgres is no registered person"),
    ],
)
def test_nobody_but_another_approver_can_approve(logins: Logins, who: str, why: str) -> None:
    """Not the requester, not under another login, not an operator, not a superuser under its own login."""
    request = gates.request(logins.requester, GATE, reason="go live")
    with pytest.raises(Refused, match=why):
        requests.decide(getattr(logins, who), request, "approved")
    assert not logins.is_open()
    assert requests.find(logins.admin, request).state == "pending"


def test_taking_on_a_role_changes_nothing(logins: Logins) -> None:
    """SET ROLE, even to the owner of the functions or to the approver, does not make a superuser somebody else."""
    request = gates.request(logins.requester, GATE, reason="go live")
    for role in ("oneroof_owner", "oneroof_approver", "approver"):
        with logins.admin.transaction(), pytest.raises(psycopg.Error, match="no registered person"):  # noqa: PT012
            logins.admin.execute(f"SET LOCAL ROLE {role}")
            logins.admin.execute("SELECT oneroof.gov_request_decide(%s::bigint, 'approved', NULL)", (request,))
    assert not logins.is_open()


def test_an_edit_after_the_request_voids_it(logins: Logins) -> None:
    """Whatever column of the host's row was touched, the approval fails, and stays failed when it is edited back."""
    for change in (
        "subject = 'iu_core.delivery_enabled'",
        "content = '{}'",
        "reason = 'other'",
        "requested_by = 'viewer'",
    ):
        request = gates.request(logins.requester, GATE, reason=f"go live: {change}")
        logins.admin.execute(f"UPDATE approval_requests SET {change} WHERE id = %s", (request,))
        assert requests.find(logins.admin, request).is_edited
        with pytest.raises(Refused, match="was edited"):
            requests.decide(logins.approver, request, "approved")
        assert requests.find(logins.admin, request).state == "void"
        with pytest.raises(Refused, match="already void"):
            requests.decide(logins.approver, request, "approved")
    assert not logins.is_open()


def test_a_deleted_or_doubled_row_voids_the_request(logins: Logins) -> None:
    """No unique key of the host is relied on: two rows of one id are as good as none."""
    gone = gates.request(logins.requester, GATE, reason="one")
    logins.admin.execute("DELETE FROM approval_requests WHERE id = %s", (gone,))
    doubled = gates.request(logins.requester, GATE, reason="two")
    logins.admin.execute("ALTER TABLE approval_requests DROP CONSTRAINT approval_requests_pkey")
    logins.admin.execute("INSERT INTO approval_requests SELECT * FROM approval_requests WHERE id = %s", (doubled,))
    for request in (gone, doubled):
        with pytest.raises(Refused, match="void"):
            requests.decide(logins.approver, request, "approved")
    assert not logins.is_open()


def test_writing_dot_config_by_hand_opens_nothing(logins: Logins) -> None:
    """Missing is closed, a hand-written true is closed, and so is one written after a close by hand."""
    logins.admin.execute("INSERT INTO dot_config (key, value) VALUES (%s, 'true')", (GATE,))
    assert not logins.is_open()
    assert logins.state() == "dot_config says true, but it is not approved"
    logins.open()
    assert logins.is_open()
    logins.admin.execute("UPDATE dot_config SET value = 'false' WHERE key = %s", (GATE,))
    assert not logins.is_open()
    logins.admin.execute("UPDATE dot_config SET value = 'true' WHERE key = %s", (GATE,))
    assert not logins.is_open()
    assert logins.state() == "dot_config was rewritten since it was opened"
    logins.admin.execute("DELETE FROM dot_config WHERE key = %s", (GATE,))
    assert not logins.is_open()
    logins.open()
    assert logins.is_open()


@pytest.mark.parametrize("value", ["TRUE", "1", "yes", "", " true", None])
def test_only_the_word_true_is_true(logins: Logins, value: str | None) -> None:
    """Anything but exactly `true` is closed."""
    logins.open()
    logins.admin.execute("UPDATE dot_config SET value = %s WHERE key = %s", (value, GATE))
    assert not logins.is_open()


def test_closing_needs_one_registered_person(logins: Logins) -> None:
    """An operator closes alone; a login that is nobody cannot; closing again is harmless."""
    logins.open()
    with pytest.raises(Refused, match="no registered person"):
        gates.close(logins.admin, GATE)
    assert gates.close(logins.viewer, GATE, reason="incident") is True
    assert not logins.is_open()
    assert gates.close(logins.viewer, GATE) is False
    with pytest.raises(Refused, match="no gate 'nonsense'"):
        gates.close(logins.viewer, "nonsense")


def test_a_request_is_decided_once(logins: Logins) -> None:
    """Two approvals at once: one counts. A rejected request stays rejected."""
    request = gates.request(logins.requester, GATE, reason="go live")
    with connect(as_user(logins.dsn, "approver")) as other:
        outcomes: list[str] = []

        def decide(connection: Connection) -> None:
            try:
                outcomes.append(requests.decide(connection, request, "approved").state)
            except Refused as refused:
                outcomes.append(str(refused))

        threads = [threading.Thread(target=decide, args=(c,)) for c in (logins.approver, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(outcomes) == ["approved", f"request {request} is already approved by approver"]
    rejected = gates.request(logins.requester, "governance.emit_enabled", reason="no")
    assert requests.decide(logins.requester, rejected, "rejected", reason="changed my mind").state == "rejected"
    with pytest.raises(Refused, match="already rejected"):
        requests.decide(logins.approver, rejected, "approved")


def test_the_same_request_twice_is_one(logins: Logins) -> None:
    """Asking again, word for word, answers the pending request; an open gate cannot be requested."""
    first = gates.request(logins.requester, GATE, reason="go live")
    assert gates.request(logins.requester, GATE, reason="  go live ") == first
    assert gates.request(logins.requester, GATE, reason="other words") != first
    requests.decide(logins.approver, first, "approved")
    with pytest.raises(Refused, match="open already"):
        gates.request(logins.requester, GATE, reason="again")


def test_a_request_needs_sense(logins: Logins) -> None:
    """Unknown gates and kinds, empty or endless reasons and huge contents are refused when they are made."""
    with pytest.raises(Refused, match="no gate"):
        gates.request(logins.requester, "governance.workers_enabledd", reason="x")
    for reason in ("", "   ", "x" * 1001):
        with pytest.raises(Refused, match="1 to 1000 characters"):
            gates.request(logins.requester, GATE, reason=reason)
    with pytest.raises(Refused, match="no request of kind"):
        requests.request(logins.requester, kind="drop.everything", subject="x", content={}, reason="x")
    with pytest.raises(Refused, match="10000 characters"):
        requests.request(logins.requester, kind="gate.open", subject=GATE, content={"x": "y" * 10001}, reason="x")
    with pytest.raises(Refused, match="no request 999"):
        requests.decide(logins.approver, 999999, "approved")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    subject=st.text(max_size=80),
    reason=st.text(max_size=80),
    content=st.dictionaries(st.text(max_size=9), st.text(max_size=9)),
)
def test_no_text_makes_a_request_misbehave(logins: Logins, subject: str, reason: str, content: dict[str, str]) -> None:
    """Any text is either a clean refusal or a clean error; never an open gate, never a broken session."""
    with pytest.raises((OneroofError, psycopg.Error, ValueError)):
        requests.request(logins.requester, kind="gate.open", subject=f"x{subject}", content=content, reason=reason)
    assert not logins.is_open()


def test_people_change_only_under_four_eyes(logins: Logins) -> None:
    """After the first two approvers: a request, another person's approval, and only then the change and the role."""
    logins.admin.execute("DROP ROLE IF EXISTS newcomer")
    logins.admin.execute("CREATE ROLE newcomer LOGIN")
    try:
        content = {"action": "add", "login": "newcomer", "name": "N. Comer", "roles": ["operator", "approver"]}
        with pytest.raises(Refused, match="no registered person"):
            directory.change(logins.admin, "newcomer", content, reason=None)
        with pytest.raises(psycopg.Error, match="two approvers already"):
            logins.admin.execute(
                'SELECT oneroof.gov_person_bootstrap(\'newcomer\', \'{"action": "add", "login": "newcomer"}\')'
            )
        request = directory.change(logins.requester, "newcomer", content, reason="joins the team")
        assert request is not None
        assert "newcomer" not in {person.person_code for person in directory.listing(logins.admin)}
        requests.decide(logins.approver, request, "approved")
        found = next(person for person in directory.listing(logins.admin) if person.person_code == "newcomer")
        assert (found.logins, found.roles, found.memberships_missing) == (["newcomer"], ["approver", "operator"], [])
        with connect(as_user(logins.dsn, "newcomer")) as newcomer:
            requests.decide(newcomer, gates.request(logins.requester, GATE, reason="x"), "approved")
        removal = directory.change(logins.approver, "newcomer", {"action": "remove"}, reason="leaves")
        assert removal is not None
        requests.decide(logins.requester, removal, "approved")
        assert "newcomer" not in {person.person_code for person in directory.listing(logins.admin)}
        with connect(as_user(logins.dsn, "newcomer")) as newcomer, pytest.raises(Refused, match="no registered person"):
            gates.close(newcomer, GATE)
    finally:
        logins.admin.execute("DROP ROLE newcomer")


@pytest.mark.parametrize(
    ("person", "content", "why"),
    [
        ("requester", {"action": "remove"}, "one of the last two approvers"),
        ("approver", {"action": "revoke", "roles": ["approver"]}, "one of the last two approvers"),
        ("approver", {"action": "unlink", "login": "approver"}, "one of the last two approvers"),
        ("viewer", {"action": "link", "login": "requester_alt"}, "already belongs to requester"),
        ("viewer", {"action": "link", "login": "no_such_login"}, "no login"),
        ("viewer", {"action": "link", "login": "oneroof_owner"}, "no login"),
        ("viewer", {"action": "grant", "roles": ["superuser"]}, "roles are reader"),
        ("viewer", {"action": "grant", "roles": []}, "say which role"),
        ("nobody", {"action": "grant", "roles": ["reader"]}, "no person nobody"),
        ("viewer", {"action": "add", "login": "viewer", "roles": []}, "already a person"),
        ("x; DROP TABLE birth_registry", {"action": "add", "login": "viewer"}, "no name for a person"),
        ("viewer", {"action": "promote"}, "no change of a person"),
    ],
)
def test_a_wrong_change_of_a_person_is_refused(
    logins: Logins, person: str, content: dict[str, object], why: str
) -> None:
    """Each with the reason, when it is asked for, not when it is approved."""
    with pytest.raises(Refused, match=why):
        directory.change(logins.requester, person, content, reason="try")


def test_two_removals_cannot_leave_one_approver(logins: Logins) -> None:
    """A request that was fine when made is checked again when approved."""
    grant = directory.change(logins.requester, "viewer", {"action": "grant", "roles": ["approver"]}, reason="a third")
    assert grant is not None
    requests.decide(logins.approver, grant, "approved")
    first = directory.change(logins.requester, "viewer", {"action": "remove"}, reason="one")
    second = directory.change(logins.requester, "approver", {"action": "remove"}, reason="two")
    assert first is not None
    assert second is not None
    requests.decide(logins.approver, first, "approved")
    with pytest.raises(Refused, match="last two approvers"):
        requests.decide(logins.approver, second, "approved")


def test_every_act_is_in_the_audit_channel_and_marked_ours(logins: Logins) -> None:
    """Request, approval, opening and closing each leave a row that no tail will mistake for the host's."""
    request = logins.open()
    gates.close(logins.viewer, GATE)
    rows = logins.admin.execute(
        "SELECT entity_type, entity_code, action FROM registry_changelog WHERE entity_type LIKE 'oneroof.%' "
        "AND entity_type <> 'oneroof.person' ORDER BY id"
    ).fetchall()
    assert rows == [
        ("oneroof.request", str(request), "request"),
        ("oneroof.gate", GATE, "open"),
        ("oneroof.request", str(request), "approved"),
        ("oneroof.gate", GATE, "close"),
    ]


def test_a_removed_person_loses_the_membership_when_no_other_database_needs_it(lone_bed: Bed) -> None:
    """Alone in its cluster a database takes the memberships back; in company it leaves them to the others."""
    member = "SELECT pg_has_role('viewer', 'oneroof_operator', 'MEMBER')"
    template = lone_bed.estate()

    def remove_viewer(database: str) -> bool:
        with (
            connect(lone_bed.dsn(database)) as admin,
            connect(lone_bed.dsn(database, user="requester")) as asking,
            connect(lone_bed.dsn(database, user="approver")) as deciding,
        ):
            request = directory.change(asking, "viewer", {"action": "remove"}, reason="leaves")
            assert request is not None
            requests.decide(deciding, request, "approved")
            return bool(one(admin, member)[0])

    with lone_bed.database(template) as first, lone_bed.database(template) as second:
        for name in (first, second):
            with connect(lone_bed.dsn(name)) as connection:
                migrate.install(connection, settings=SETTINGS)
        assert remove_viewer(first)
        with connect(lone_bed.dsn(first)) as connection:
            migrate.uninstall(connection, settings=SETTINGS)
        assert not remove_viewer(second)
