"""One row of the host's system_issues per finding, however often and by however many it is raised."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from bed import SETTINGS, connect, eventually, stop_clock
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.errors import Refused
from oneroof.findings.store import clear_finding, count_open, listing, raise_finding
from oneroof.host import channel_export
from oneroof.install import migrate

SUBJECT = "gov_handoff_intake:birth_registry#1/2"
KEY = f"cursor_dlq:{SUBJECT}"
ISSUE = f"""SELECT status, occurrence_count, reopen_count, details, resolved_at IS NULL, ctid::text
            FROM system_issues WHERE coalesce_key = '{KEY}'"""


@pytest.fixture
def worker(installed_database: str) -> Iterator[Connection]:
    with connect(installed_database) as connection:
        yield connection


def find(connection: Connection, **details: Any) -> bool:
    with transaction(connection, doing="finding", role="oneroof_worker"):
        return raise_finding(connection, "cursor_dlq", subject=SUBJECT, title="dead letters", details=details)


def clear(connection: Connection) -> bool:
    with transaction(connection, doing="clearing", role="oneroof_worker"):
        return clear_finding(connection, "cursor_dlq", subject=SUBJECT)


def issue(connection: Connection) -> tuple[Any, ...]:
    """Everything but where the row lies."""
    (row,) = connection.execute(ISSUE).fetchall()
    return row[:-1]


def place(connection: Connection) -> str:
    """Where the row lies; another place is another version."""
    return str(one(connection, ISSUE)[-1])


def test_a_finding_is_a_row_of_the_host(worker: Connection) -> None:
    """Type, bucket, severity and owner from the type; what it is about from the subject; marked as our own."""
    (before,) = one(worker, "SELECT count(*) FROM system_issues")
    assert find(worker, dead=3) is True
    assert one(worker, "SELECT count(*) FROM system_issues") == (before + 1,)
    row = one(
        worker,
        """SELECT issue_type, bucket, severity, status, title, entity_type, entity_code, owner_ref, source_system,
                  details, business_logic_hash = md5(issue_type), violation_hash = md5(coalesce_key),
                  abs(extract(epoch FROM first_seen_at - now())) < 600
           FROM system_issues WHERE coalesce_key = %s""",
        (KEY,),
    )
    assert row[:6] == ("cursor_dlq", "silent_fail", "high", "open", "dead letters", "gov_handoff_intake")
    assert row[6:] == ("birth_registry#1/2", "GOV-SIV", "oneroof", {"dead": 3}, True, True, True)
    (found,) = listing(worker)
    assert (found.coalesce_key, found.subject, found.occurrence_count) == (KEY, SUBJECT, 1)


def test_seen_again_is_counted_but_never_churned(worker: Connection) -> None:
    """Unchanged within 30 seconds nothing is written, not even a lock; changed details or a later look count."""
    stop_clock(worker, seconds=0)
    find(worker, dead=3)
    at, first = place(worker), one(worker, "SELECT xmin::text, xmax::text FROM oneroof.governance_finding")
    stop_clock(worker, seconds=29)
    assert find(worker, dead=3) is False
    assert place(worker) == at
    assert one(worker, "SELECT xmin::text, xmax::text FROM oneroof.governance_finding") == first
    assert find(worker, dead=4) is False
    assert issue(worker) == ("open", 2, 0, {"dead": 4}, True)
    stop_clock(worker, seconds=59)
    assert find(worker, dead=4) is False
    assert issue(worker) == ("open", 3, 0, {"dead": 4}, True)


def test_a_closed_finding_opens_anew(worker: Connection) -> None:
    """The same row, with reopen_count; clearing what is not open does nothing."""
    assert clear(worker) is False
    find(worker, dead=3)
    assert clear(worker) is True
    assert issue(worker) == ("resolved", 1, 0, {"dead": 3}, False)
    assert count_open(worker) == 0
    at = place(worker)
    assert clear(worker) is False
    assert place(worker) == at
    assert find(worker, dead=3) is True
    assert issue(worker) == ("open", 2, 1, {"dead": 3}, True)
    assert count_open(worker) == 1


def test_a_title_says_what_was_found_last(worker: Connection) -> None:
    """Opened anew or seen again with other details: a number in it is that of now."""
    title = f"SELECT title FROM system_issues WHERE coalesce_key = '{KEY}'"

    def found(many: int) -> None:
        with transaction(worker, doing="finding", role="oneroof_worker"):
            words = f"{many} dead letters"
            raise_finding(worker, "cursor_dlq", subject=SUBJECT, title=words, details={"count": many})

    found(3)
    found(4)
    assert one(worker, title) == ("4 dead letters",)
    clear(worker)
    found(2)
    assert one(worker, title) == ("2 dead letters",)


def test_what_the_hosts_own_people_did_counts(worker: Connection) -> None:
    """Resolved there, it is not open; still so, it is opened anew; their own word for open is left alone."""
    find(worker, dead=3)
    worker.execute("UPDATE system_issues SET status = 'resolved', resolved_at = now() WHERE coalesce_key = %s", (KEY,))
    assert (count_open(worker), listing(worker)) == (0, [])
    assert clear(worker) is False
    assert find(worker, dead=3) is True
    assert issue(worker) == ("open", 2, 1, {"dead": 3}, True)
    worker.execute("UPDATE system_issues SET status = 'acknowledged' WHERE coalesce_key = %s", (KEY,))
    assert find(worker, dead=5) is False
    assert issue(worker) == ("acknowledged", 3, 1, {"dead": 5}, True)
    worker.execute("DELETE FROM system_issues WHERE coalesce_key = %s", (KEY,))
    assert find(worker, dead=5) is True
    assert issue(worker) == ("open", 1, 0, {"dead": 5}, True)


@pytest.mark.parametrize("reopened", [0, 1])
def test_two_sessions_raise_one_finding(worker: Connection, installed_database: str, reopened: int) -> None:
    """The second waits for the first and counts, be it new or opened anew; one row there, one key here."""
    answers: list[bool] = []
    if reopened:
        find(worker, dead=0)
        clear(worker)
    with connect(installed_database) as other, connect(installed_database) as watcher:
        thread = threading.Thread(target=lambda: answers.append(find(other, dead=2)))
        with transaction(worker, doing="finding", role="oneroof_worker"):
            assert raise_finding(worker, "cursor_dlq", subject=SUBJECT, title="first", details={"dead": 1})
            thread.start()
            waiting = "SELECT FROM pg_locks WHERE NOT granted AND pid = %s"
            eventually(
                lambda: watcher.execute(waiting, (other.info.backend_pid,)).fetchone() is not None, what="it to wait"
            )
        thread.join()
    assert answers == [False]
    assert issue(worker) == ("open", 2 + reopened, reopened, {"dead": 2}, True)


def test_many_at_once_raise_one_finding(installed_database: str) -> None:
    """Eight sessions, the same moment, nothing there before: one of them opened it."""
    answers: list[bool] = []
    start = threading.Barrier(8)

    def go() -> None:
        with connect(installed_database) as connection:
            start.wait()
            answers.append(find(connection, dead=1))

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with connect(installed_database) as connection:
        assert sorted(answers) == [False] * 7 + [True]
        assert issue(connection) == ("open", 1, 0, {"dead": 1}, True)


def test_an_unknown_type_is_refused(worker: Connection) -> None:
    """The types are data; a type that is not there, or a finding about nothing, is no finding."""
    for issue_type, subject in (("cursor_typo", "x"), ("cursor_dlq", "")):
        with (
            pytest.raises(Refused, match="there is no finding"),
            transaction(worker, doing="finding", role="oneroof_worker"),
        ):
            raise_finding(worker, issue_type, subject=subject, title="x", details={})
    assert worker.execute("SELECT FROM oneroof.governance_finding").fetchall() == []


def test_only_who_works_or_operates_may_raise(worker: Connection) -> None:
    """A reader, an approver and the console may not; an operator may."""
    for role in ("oneroof_reader", "oneroof_approver", "oneroof_console"):
        with pytest.raises(Refused, match="permission denied"), transaction(worker, doing="finding", role=role):
            raise_finding(worker, "cursor_dlq", subject=SUBJECT, title="x", details={})
    with transaction(worker, doing="finding", role="oneroof_operator"):
        assert raise_finding(worker, "cursor_dlq", subject=SUBJECT, title="x", details={})


def test_a_finding_can_quote_poison_and_keeps_no_secret(worker: Connection) -> None:
    """What PostgreSQL cannot hold is replaced, a password is blanked (promises 11 and 26)."""
    poison = ["nul \x00", "half \ud800", {"\x00": "password=geheim host=x"}, 7]
    assert find(worker, error=poison)
    (found,) = listing(worker)
    assert found.details == {"error": ["nul \ufffd", "half ?", {"\ufffd": "password=*** host=x"}, 7]}


def test_uninstall_closes_what_is_open_and_a_new_install_goes_on_with_it(worker: Connection) -> None:
    """No finding stays open that nobody would close; later it is the same row again."""
    assert "system_issues" not in channel_export.remaining(worker)
    host = worker.execute("SELECT id, status FROM system_issues ORDER BY id").fetchall()
    find(worker, dead=3)
    assert channel_export.remaining(worker)["system_issues"] == 1
    migrate.uninstall(worker, settings=SETTINGS)
    assert issue(worker)[0] == "resolved"
    assert issue(worker)[-1] is False
    migrate.install(worker, settings=SETTINGS)
    assert find(worker, dead=3) is True
    assert issue(worker) == ("open", 2, 1, {"dead": 3}, True)
    others = "SELECT id, status FROM system_issues WHERE source_system <> 'oneroof' ORDER BY id"
    assert worker.execute(others).fetchall() == host
