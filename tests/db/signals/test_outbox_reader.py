"""`oneroof events tail`: none lost, none twice, whoever commits late; and the whole way through the command line."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import inventory
from bed import as_user, command, connect, eventually, spawn
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.errors import Usage
from oneroof.people import gates, requests
from oneroof.signals import emission, event_types, outbox_reader
from oneroof.signals.emission import Event
from process import Process

BORN, RETIRED = "governance.handoff.object_born", "governance.handoff.object_retired"
GATE = "governance.emit_enabled"
WORKER = "oneroof_worker"


@pytest.fixture
def active(installed_database: str) -> str:
    """A database in which two types are active."""
    with (
        connect(as_user(installed_database, "requester")) as requester,
        connect(as_user(installed_database, "approver")) as approver,
    ):
        requests.decide(approver, gates.request(requester, GATE, reason="x"), "approved")
        event_types.register(requester)
        requests.decide(approver, event_types.request_activation(requester, [BORN, RETIRED], reason="x"), "approved")
    return installed_database


def born(number: int, *, kind: str = BORN, writer: int = 0) -> Event:
    ref = f"ENT-{writer}-{number}"
    return Event(
        event_type=kind,
        source="birth_registry",
        source_key=ref,
        change_number=1,
        subject_table="birth_registry",
        subject_ref=ref,
        payload={"collection_name": "things"},
    )


def emit(connection: Connection, *batch: Event) -> None:
    with transaction(connection, doing="emitting", role=WORKER):
        assert emission.emit(connection, batch).emitted == len(batch)


def emitted(connection: Connection) -> list[str]:
    rows = connection.execute("SELECT id::text FROM event_outbox WHERE event_domain = 'governance' ORDER BY 1")
    return [name for (name,) in rows]


def read_all(connection: Connection, token: str | None = None, *, most: int = 3) -> list[outbox_reader.Signal]:
    """Everything behind a cursor, page by page."""
    place, _ = outbox_reader.begin(connection, token)
    found: list[outbox_reader.Signal] = []
    while True:
        page = outbox_reader.read(connection, place, types=None, most=most)
        found += page.signals
        place = page.place
        if not page.more:
            return found


@contextmanager
def tailing(*words: str, dsn: str) -> Iterator[tuple[Process, list[dict[str, Any]]]]:
    """A real tail that follows, and the lines it has printed so far."""
    lines: list[dict[str, Any]] = []
    process = spawn("events", "tail", "--follow", *words, dsn=dsn)
    assert process.stdout is not None
    stdout = process.stdout
    reader = threading.Thread(target=lambda: lines.extend(json.loads(line) for line in stdout))
    reader.start()
    try:
        yield process, lines
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        reader.join()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        stdout.close()
        process.stderr.close()


@pytest.mark.newest
def test_a_line_is_a_cloud_event(active: str) -> None:
    """CloudEvents 1.0, with the cursor as an extension; `lines` is for people."""
    with connect(active) as admin:
        emit(admin, born(1))
        inventory.settle(admin)
        (name,) = emitted(admin)
        (database,) = one(admin, "SELECT current_database()")
    ran = command("events", "tail", dsn=active)
    assert ran.code == 0, ran.err
    (line,) = ran.out.splitlines()
    event = json.loads(line)
    assert event.pop("time").endswith("Z")
    assert event.pop("cursor")
    assert event == {
        "specversion": "1.0",
        "id": name,
        "source": f"/oneroof/{database}",
        "type": BORN,
        "subject": "birth_registry/ENT-0-1",
        "datacontenttype": "application/json",
        "data": {"collection_name": "things"},
        "stream": "governance.handoff",
        "severity": "info",
        "canonicaladdress": "things:ENT-0-1",
    }
    shown = command("events", "tail", "--format", "lines", dsn=active).out
    assert f'{BORN} things:ENT-0-1 collection_name="things" @' in shown
    document = command("events", "tail", "--json", dsn=active).json
    assert [each["id"] for each in document["events"]] == [name]
    again = command("events", "tail", "--after", document["cursor"], dsn=active)
    assert (again.code, again.out) == (0, "")


def test_resume_from_any_cursor(active: str) -> None:
    """Behind every line go on all that came after it, in the same order, and none of those before."""
    with connect(active) as admin:
        for number in range(4):
            emit(admin, *(born(10 * number + each) for each in range(3)))
        inventory.settle(admin)
        whole = read_all(admin)
        assert sorted(each.event_id for each in whole) == emitted(admin)
        for position, each in enumerate(whole):
            assert read_all(admin, each.place.token()) == whole[position + 1 :]
        # A transaction's rows keep the order in which they were emitted.
        assert [each.subject_ref for each in whole] == [f"ENT-0-{10 * n + e}" for n in range(4) for e in range(3)]


def test_a_late_commit_is_waited_for(active: str) -> None:
    """A transaction that began first and commits last: what was read before it stays read, and it comes too."""
    with connect(active) as late, connect(active) as admin:
        with transaction(late, doing="emitting", role=WORKER):
            assert emission.emit(late, [born(1)]).emitted == 1
            emit(admin, born(2))
            before = read_all(admin)
            assert before == []
        inventory.settle(admin)
        assert [each.subject_ref for each in read_all(admin)] == ["ENT-0-1", "ENT-0-2"]


@pytest.mark.newest
def test_types_and_limits(active: str) -> None:
    """--type names types, with *, and a near match where there is none; --limit ends, and the cursor goes on."""
    with connect(active) as admin:
        emit(admin, born(1), born(1, kind=RETIRED), born(2))
        inventory.settle(admin)

    def subjects(*words: str) -> list[str]:
        ran = command("events", "tail", *words, dsn=active)
        assert ran.code == 0, ran.err
        return [json.loads(line)["type"].rsplit("_", 1)[1] for line in ran.out.splitlines()]

    assert subjects("--type", BORN) == ["born", "born"]
    assert subjects("--type", "governance.*.object_*") == ["born", "retired", "born"]
    assert subjects("--type", BORN, "--type", RETIRED, "--limit", "2") == ["born", "retired"]
    assert subjects("--type", "governance.cursor.*") == []
    wrong = command("events", "tail", "--type", "governance.handoff.object_bron", dsn=active)
    assert (wrong.code, f"did you mean {BORN}?" in wrong.err) == (2, True)
    for words in (
        ["--format", "xml"],
        ["--after", "nonsense"],
        ["--json", "--follow"],
        ["--after", "x", "--cursor-file", "y"],
    ):
        assert command("events", "tail", *words, dsn=active).code == 2


def test_a_cursor_of_another_cluster_begins_anew(active: str) -> None:
    """Xids of another cluster or timeline mean nothing here: everything comes again, and that is said."""
    with connect(active) as admin:
        emit(admin, born(1))
        inventory.settle(admin)
        (only,) = read_all(admin)
    elsewhere = outbox_reader.Place("4711/00000001", only.place.xid + 5).token()
    ran = command("events", "tail", "--after", elsewhere, dsn=active)
    assert len(ran.out.splitlines()) == 1
    assert "another cluster or timeline" in ran.err
    # And one so far back that 32 bits do not tell.
    with connect(active) as admin:
        far = outbox_reader.Place(only.place.identity, -(2**31))
        assert outbox_reader.begin(admin, far.token())[1] is not None
        with pytest.raises(Usage, match="is no cursor"):
            outbox_reader.begin(admin, "AAAA")


def test_a_cursor_that_is_ahead_of_the_database_begins_anew(active: str) -> None:
    """A copy of the files from before has the same identity, and what it emits has xids that were passed by."""
    with connect(active) as connection:
        emit(connection, born(1), born(2))
        inventory.settle(connection)
        place, _ = outbox_reader.begin(connection, None)
        ahead = outbox_reader.Place(place.identity, outbox_reader.read(connection, place, types=None).place.xid + 1000)
        ran = command("events", "tail", "--after", ahead.token(), dsn=active)
        assert (ran.code, len(ran.out.splitlines())) == (0, 2)
        assert "ahead of this database" in ran.err


@pytest.mark.parametrize(
    "change", [{"xid": 2**70}, {"xid": True}, {"born": "yesterdayish"}, {"born": "x\0"}, {"event_id": "x"}], ids=str
)
def test_what_nobody_printed_is_no_cursor(active: str, change: dict[str, Any]) -> None:
    """Exit 2, whatever of it is wrong."""
    with connect(active) as connection:
        place, _ = outbox_reader.begin(connection, None)
        ran = command("events", "tail", "--after", replace(place, **change).token(), dsn=active)
    assert (ran.code, ran.out) == (2, "")
    assert "is no cursor" in ran.err


def test_sixteen_writers_with_late_commits_and_a_tail_that_is_stopped(active: str, tmp_path: Path) -> None:
    """Eight writers commit at once, again and again; eight began before them and commit after all, some inside a
    savepoint. A tail with a cursor file is stopped in between and goes on: every signal once.
    """
    rounds, cursor_file = 12, tmp_path / "cursor"
    late_open, release = threading.Barrier(9, timeout=120), threading.Event()
    failures: list[BaseException] = []

    def quick(writer: int) -> None:
        with connect(active) as connection:
            for number in range(rounds):
                emit(connection, born(number, writer=writer), born(1000 + number, writer=writer))

    def late(writer: int) -> None:
        with connect(active) as connection:
            with transaction(connection, doing="emitting", role=WORKER):
                with connection.transaction() if writer % 2 else nullcontext():
                    batch = [born(number, writer=writer) for number in range(5)]
                    assert emission.emit(connection, batch).emitted == 5
                late_open.wait()
                assert release.wait(240)
                assert emission.emit(connection, [born(9, writer=writer)]).emitted == 1
            emit(connection, born(10, writer=writer))

    def start(work: Callable[[int], None], writers: range) -> list[threading.Thread]:
        def guarded(writer: int) -> None:
            try:
                work(writer)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=guarded, args=(writer,)) for writer in writers]
        for thread in threads:
            thread.start()
        return threads

    with connect(active) as admin:
        with tailing("--cursor-file", str(cursor_file), dsn=active) as (_, first):
            emit(admin, born(0, writer=99))
            inventory.settle(admin)
            eventually(lambda: first, what="the tail to have begun", seconds=120)
            threads = start(late, range(8))
            late_open.wait()
            for thread in start(quick, range(8, 16)):
                thread.join()
            # The quick ones are done and the late ones are not: the tail looks, and must not go past those.
            for _ in range(2):
                _await_look(admin)
            assert len(first) == 1
            release.set()
            eventually(lambda: len(first) > 1, what="the first of the rest", seconds=120)
        # Stopped here, wherever it was.
        for thread in threads:
            thread.join()
        assert failures == []
        inventory.settle(admin)
        expected = emitted(admin)
    assert len(expected) == 1 + 8 * rounds * 2 + 8 * 7
    with connect(active) as admin, tailing("--cursor-file", str(cursor_file), dsn=active) as (_, second):
        # The first may have printed all before it was stopped. Until the second one reads, a signal to stop it is an
        # interruption, exit 130: wait for more statements than it begins with.
        for _ in range(12):
            _await_look(admin)
        eventually(lambda: len(first) + len(second) >= len(expected), what="every signal", seconds=60)
    assert sorted(event["id"] for event in [*first, *second]) == expected
    assert command("events", "tail", "--cursor-file", str(cursor_file), dsn=active).out == ""


def _await_look(admin: Connection) -> None:
    """Wait until the tail has begun and ended a statement after this moment."""
    (now,) = one(admin, "SELECT clock_timestamp()")
    looked = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'oneroof'"
        " AND state = 'idle' AND query_start > %s"
    )
    eventually(lambda: one(admin, looked, (now,))[0], what="the tail to look again")


def test_whoever_reads_goes_away(active: str) -> None:
    """A closed pipe ends the tail, also while nothing comes, without a word."""
    with connect(active) as admin:
        emit(admin, born(1))
        inventory.settle(admin)
    process = spawn("events", "tail", "--follow", dsn=active)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["type"] == BORN
    process.stdout.close()
    assert process.wait(30) == 0
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.newest
def test_the_whole_way_through_the_command_line(installed_database: str) -> None:
    """register, activate by two, held before and promoted after, tail, deactivate by one."""
    requester, approver = (as_user(installed_database, user) for user in ("requester", "approver"))
    assert command("events", "promote", dsn=installed_database).code == 3
    assert f"the gate {GATE} is closed" in command("events", "list", dsn=requester).err
    number = command("gate", "request", GATE, "--reason", "x", "--json", dsn=requester).json["request_id"]
    assert command("gate", "approve", str(number), dsn=approver).code == 0
    registered = command("events", "register", "--json", dsn=requester).json
    assert registered["count"] == len(registered["registered"]) > 70
    assert command("events", "register", "--json", dsn=requester).json["count"] == 0
    with connect(installed_database) as admin, transaction(admin, doing="emitting", role=WORKER):
        assert emission.emit(admin, [born(number) for number in range(50)]).held == 50

    wrong = command("events", "activate", "governance.handoff.object_bron", "--reason", "x", dsn=requester)
    assert (wrong.code, f"did you mean {BORN}?" in wrong.err) == (2, True)
    asked = command("events", "activate", BORN, "--reason", "go live", "--json", dsn=requester)
    assert asked.code == 0, asked.err
    request = str(asked.json["request_id"])
    assert command("approvals", "approve", request, dsn=requester).code == 3
    assert command("approvals", "approve", request, dsn=approver).code == 0
    listed = {row["event_type"]: row for row in command("events", "list", "--json", dsn=requester).json}
    assert (listed[BORN]["is_active"], listed[BORN]["held"], listed[BORN]["approved_by"]) == (True, 50, "approver")
    assert [row["event_type"] for row in command("events", "list", "--active", "--json", dsn=requester).json] == [BORN]

    assert command("events", "promote", "--json", dsn=installed_database).json == {"promoted": 50}
    assert command("events", "promote", "--json", dsn=installed_database).json == {"promoted": 0}
    with connect(installed_database) as admin:
        inventory.settle(admin)
    assert len(command("events", "tail", dsn=requester).out.splitlines()) == 50
    ended = command("events", "deactivate", BORN, "--json", dsn=approver)
    assert ended.json == {"deactivated": [BORN], "count": 1}
    assert command("events", "list", dsn=requester).code == 0
