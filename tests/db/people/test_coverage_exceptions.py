"""Exceptions: asked by one person, ratified by another, for as long as they say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from bed import as_user, connect, set_clock
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import Refused, Usage
from oneroof.people import coverage_exceptions, requests

SUBJECT = "customer_records"


@pytest.fixture
def asking(installed_database: str) -> Iterator[Connection]:
    with connect(as_user(installed_database, "requester")) as connection:
        yield connection


@pytest.fixture
def deciding(installed_database: str) -> Iterator[Connection]:
    with connect(as_user(installed_database, "approver")) as connection:
        yield connection


def in_days(days: int) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


def ask(connection: Connection, subject: str = SUBJECT, *, days: int | None = None) -> tuple[int, int]:
    """An exception for a collection and the request that goes with it."""
    until = None if days is None else in_days(days)
    made = coverage_exceptions.add(connection, "collection", subject, reason="being moved", until=until)
    assert made.request_id is not None
    return made.exception_id, made.request_id


def effective(connection: Connection) -> list[tuple[str, str, str]]:
    return connection.execute(
        "SELECT level, subject, state FROM oneroof.v_exception_effective ORDER BY 1, 2"
    ).fetchall()


def audit(connection: Connection) -> list[tuple[str, str]]:
    return connection.execute(
        "SELECT entity_type, action FROM registry_changelog WHERE entity_type ~ '^oneroof.(exception|request)'"
        " ORDER BY id"
    ).fetchall()


def test_an_exception_counts_when_another_person_has_ratified_it(
    asking: Connection, deciding: Connection, admin: Connection
) -> None:
    """Unratified, then ratified, with both people on record and every step in the audit channel."""
    number, request = ask(asking)
    assert effective(admin) == [("collection", SUBJECT, "unratified")]
    waiting = requests.find(admin, request)
    assert (waiting.request_kind, waiting.subject, waiting.requester) == ("exception.ratify", str(number), "requester")
    assert (waiting.content["level"], waiting.content["subject"], waiting.content["until"]) == (
        "collection",
        SUBJECT,
        None,
    )
    requests.decide(deciding, request, "approved")
    assert effective(admin) == [("collection", SUBJECT, "ratified")]
    found = coverage_exceptions.find(admin, number)
    assert (found.requested_by, found.ratified_by, found.state) == ("requester", "approver", "ratified")
    assert audit(admin) == [
        ("oneroof.request", "request"),
        ("oneroof.exception", "ratify"),
        ("oneroof.request", "approved"),
    ]


@pytest.mark.parametrize(
    ("who", "why"),
    [
        ("requester", "who cannot also approve it"),
        ("requester_alt", "same person"),
        ("viewer", "permission denied|is not approver"),
        ("postgres", "no registered person"),
    ],
)
def test_nobody_but_another_approver_ratifies(
    installed_database: str, asking: Connection, admin: Connection, who: str, why: str
) -> None:
    """As for gates: not the requester under any login, not an operator, not a superuser."""
    _, request = ask(asking)
    with connect(as_user(installed_database, who)) as other, pytest.raises(Refused, match=why):
        requests.decide(other, request, "approved")
    assert effective(admin) == [("collection", SUBJECT, "unratified")]


def test_an_exception_ends_when_it_says(asking: Connection, deciding: Connection, admin: Connection) -> None:
    """Ratified up to its end and expired from then on, by the database's clock."""
    number, request = ask(asking, days=10)
    requests.decide(deciding, request, "approved")
    states = []
    for offset in ("9 days 23 hours", "10 days 1 hour"):
        set_clock(admin, offset)
        states.append(coverage_exceptions.find(admin, number).state)
    assert states == ["ratified", "expired"]
    assert coverage_exceptions.listing(admin) == []
    again, _ = ask(asking)
    assert again != number
    assert effective(admin) == [("collection", SUBJECT, "unratified")]


def test_what_has_expired_is_not_ratified_any_more(asking: Connection, deciding: Connection, admin: Connection) -> None:
    """The approval comes too late and is refused."""
    number, request = ask(asking, days=1)
    set_clock(admin, "2 days")
    with pytest.raises(Refused, match=f"exception {number} is expired"):
        requests.decide(deciding, request, "approved")
    assert coverage_exceptions.find(admin, number).state == "expired"


def test_a_rejected_exception_is_as_good_as_revoked(
    asking: Connection, deciding: Connection, admin: Connection
) -> None:
    """And it is no obstacle to asking again."""
    number, request = ask(asking)
    requests.decide(deciding, request, "rejected")
    assert coverage_exceptions.find(admin, number).state == "revoked"
    ask(asking)
    assert effective(admin) == [("collection", SUBJECT, "unratified")]


def test_an_edited_request_is_void_and_so_is_its_exception(
    asking: Connection, deciding: Connection, admin: Connection
) -> None:
    """Somebody rewrites what waits in approval_requests."""
    number, request = ask(asking)
    admin.execute("""UPDATE approval_requests SET content = content || '{"subject": "*"}' WHERE id = %s""", (request,))
    with pytest.raises(Refused, match="void"):
        requests.decide(deciding, request, "approved")
    assert coverage_exceptions.find(admin, number).state == "revoked"


def test_a_rewritten_exception_is_not_what_was_asked(
    asking: Connection, deciding: Connection, admin: Connection
) -> None:
    """Our own row changed behind the request: the approval is bound to what it said."""
    number, request = ask(asking)
    admin.execute(
        "UPDATE oneroof.governance_exception SET subject = 'supplier_records' WHERE exception_id = %s", (number,)
    )
    with pytest.raises(Refused, match="is not what the request says"):
        requests.decide(deciding, request, "approved")


def test_one_person_takes_an_exception_back(asking: Connection, deciding: Connection, admin: Connection) -> None:
    """At once, whether it counted or still waited; a waiting request is void, in the host's channel too."""
    first, request = ask(asking)
    requests.decide(deciding, request, "approved")
    assert coverage_exceptions.revoke(asking, first) is True
    assert coverage_exceptions.revoke(asking, first) is False
    assert effective(admin) == [("collection", SUBJECT, "revoked")]
    second, waiting = ask(asking)
    assert coverage_exceptions.revoke(deciding, second) is True
    assert requests.find(admin, waiting).state == "void"
    assert one(admin, "SELECT status FROM approval_requests WHERE id = %s", (waiting,)) == ("void",)
    with pytest.raises(Refused, match="already void"):
        requests.decide(deciding, waiting, "approved")
    assert coverage_exceptions.find(admin, second).revoked_by == "approver"
    assert effective(admin) == [("collection", SUBJECT, "revoked")]


def test_the_same_again_is_one_and_another_is_refused(
    installed_database: str, asking: Connection, deciding: Connection, admin: Connection
) -> None:
    """While it waits, and while it counts; another subject is another exception."""
    number, request = ask(asking)
    assert ask(asking) == (number, request)
    with connect(as_user(installed_database, "viewer")) as other, pytest.raises(Refused, match="which is unratified"):
        ask(other)
    requests.decide(deciding, request, "approved")
    with pytest.raises(Refused, match=f"has exception {number}, which is ratified") as refused:
        ask(asking)
    assert refused.value.hint == f"oneroof exceptions revoke {number}"
    assert ask(asking, "supplier_records")[0] != number
    assert one(admin, "SELECT count(*) FROM oneroof.governance_exception") == (2,)


def test_a_request_made_past_the_command_ratifies_nothing(
    installed_database: str, asking: Connection, deciding: Connection, admin: Connection
) -> None:
    """A second request for the same exception, by whomever, is not the one that was made with it."""
    number, request = ask(asking)
    content = requests.find(admin, request).content
    with connect(as_user(installed_database, "viewer")) as other:
        forged = requests.request(other, kind="exception.ratify", subject=str(number), content=content, reason="let me")
    assert forged != request
    for approver in (asking, deciding):
        with pytest.raises(Refused, match="is not the one that was made with exception"):
            requests.decide(approver, forged, "approved")
    assert coverage_exceptions.find(admin, number).state == "unratified"
    with pytest.raises(Refused, match="there is no exception '999'"):
        requests.request(asking, kind="exception.ratify", subject="999", content=content, reason="none")


def test_the_table_itself_wants_two_people(asking: Connection, admin: Connection) -> None:
    """Even whoever may write it cannot let the requester ratify."""
    number, _ = ask(asking)
    with pytest.raises(psycopg.errors.CheckViolation, match="four_eyes"):
        admin.execute(
            "UPDATE oneroof.governance_exception SET ratified_at = now(), ratified_by = 'requester' WHERE"
            " exception_id = %s",
            (number,),
        )


@pytest.mark.parametrize(
    ("level", "subject", "until", "said"),
    [
        ("galaxy", "x", None, "not something that an exception could be for"),
        ("collection", "*", None, "not something that an exception could be for"),
        ("object", "", None, "not something that an exception could be for"),
        ("object", "x" * 2001, None, "not something that an exception could be for"),
        ("object", "x", datetime(2001, 1, 1, tzinfo=UTC), "cannot end in the past"),
        ("object", "x", datetime(9999, 6, 1, tzinfo=UTC), "beyond the year 9998"),
    ],
)
def test_a_wrong_exception_is_wrong_usage(
    asking: Connection, admin: Connection, level: str, subject: str, until: datetime | None, said: str
) -> None:
    """One sentence, what helps, and nothing is left."""
    with pytest.raises(Usage, match=said) as wrong:
        coverage_exceptions.add(asking, level, subject, reason="x", until=until)
    assert wrong.value.hint is not None
    assert one(admin, "SELECT count(*) FROM oneroof.governance_exception") == (0,)


def test_an_exception_needs_a_reason_and_a_person(asking: Connection, admin: Connection) -> None:
    """And there is no other way in than the functions."""
    with pytest.raises(Refused, match="1 to 1000 characters"):
        coverage_exceptions.add(asking, "collection", SUBJECT, reason="  ")
    with pytest.raises(Refused, match="no registered person"):
        coverage_exceptions.add(admin, "collection", SUBJECT, reason="x")
    for statement in (
        "INSERT INTO oneroof.governance_exception (level, subject) VALUES ('scope', '*')",
        "SELECT oneroof.gov_exception_ratify(1::bigint, '1')",
        "UPDATE oneroof.governance_exception SET valid_to = NULL",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            asking.execute(statement)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_exception") == (0,)


def test_the_best_state_of_a_subject_is_its_effective_one(
    asking: Connection, deciding: Connection, admin: Connection
) -> None:
    """One row for each subject, however often it was excused."""
    number, _ = ask(asking)
    coverage_exceptions.revoke(asking, number)
    _, request = ask(asking)
    requests.decide(deciding, request, "approved")
    coverage_exceptions.add(asking, "scope", "*", reason="all of it")
    assert effective(admin) == [("collection", SUBJECT, "ratified"), ("scope", "*", "unratified")]
