"""The inbox: a signal reaches whoever subscribed, once; reading is noted once; muting hides it and no finding."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from bed import as_user, command, connect, eventually
from liveness import Actor
from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError, Refused, Usage
from oneroof.host import channel_export
from oneroof.install import doctor
from oneroof.runtime.watch import watch
from oneroof.signals import emission, inbox
from oneroof.signals.emission import Event

BORN, RETIRED = "governance.handoff.object_born", "governance.handoff.object_retired"
DLQ, STREAM = "governance.handoff.dlq", "governance.handoff"
OWNER = "GOV-SIV"
READS = "SELECT count(*) FROM event_read WHERE actor_ref = %s AND event_id = ANY (%s)"


@pytest.fixture
def reader(logins: Logins) -> Iterator[Connection]:
    """Somebody who may read and nothing else, in a database in which two types are active."""
    logins.activate(BORN, RETIRED)
    # No login of its own: roles are the cluster's, and other tests look at all of them.
    with connect(logins.dsn) as connection:
        connection.execute("SET SESSION AUTHORIZATION oneroof_reader")
        yield connection


def tell(
    logins: Logins, *numbers: int, kind: str = BORN, table: str = "birth_registry", collection: str = "things"
) -> None:
    batch = [
        Event(
            event_type=kind,
            source="birth_registry",
            source_key=f"T-{number}",
            change_number=1,
            subject_table=table,
            subject_ref=f"T-{number}",
            payload={"collection_name": collection},
        )
        for number in numbers
    ]
    with transaction(logins.worker, doing="emitting", role=emission.WORKER):
        assert emission.emit(logins.worker, batch).emitted == len(batch)


def refs(connection: Connection, recipient: str = OWNER, *, everything: bool = False) -> list[str | None]:
    return [each.subject_ref for each in inbox.listing(connection, recipient, everything=everything).signals]


def ids(connection: Connection, recipient: str = OWNER) -> list[UUID]:
    return [UUID(each.event_id) for each in inbox.listing(connection, recipient).signals]


def test_doc41_11_7_notification_boundary(logins: Logins) -> None:
    """A finding reaches the subscribed owner by a signal, `event_read` has that it was seen, and muting hides the next
    one while the finding stays open.
    """
    logins.activate(DLQ)
    inbox.subscribe(logins.requester, OWNER, event_type=DLQ)
    actor = Actor(logins.admin, worker="gov_handoff_intake")
    actor.begin()
    actor.claim()
    logins.admin.execute(
        "INSERT INTO oneroof.governance_retry (worker_name, source_name, source_key, key_mark, row_xid, state,"
        " sqlstate,"
        " last_error) VALUES ('gov_handoff_intake', 'birth_registry', '1', '1', 1, 'dead', '22000', 'x')"
    )
    still_open = (
        "SELECT count(*) FROM system_issues WHERE issue_type = 'handoff_dlq' AND owner_ref = %s AND resolved_at IS NULL"
    )

    def fail_again() -> None:
        logins.admin.execute("UPDATE oneroof.governance_retry SET state = 'resolved'")
        actor.tick()
        assert any(key.startswith("handoff_dlq:") for key in watch(logins.admin).cleared)
        logins.admin.execute("UPDATE oneroof.governance_retry SET state = 'dead'")
        assert any(key.startswith("handoff_dlq:") for key in watch(logins.admin).raised)
        assert one(logins.admin, still_open, (OWNER,)) == (1,)

    for _ in range(2):
        watch(logins.admin)
    assert one(logins.admin, still_open, (OWNER,)) == (1,)
    (signal,) = inbox.listing(logins.requester, OWNER).signals
    assert (signal.event_type, signal.subject_ref) == (DLQ, actor.executor)

    seen = UUID(signal.event_id)
    assert inbox.read(logins.requester, OWNER, [seen]) == 1
    noted = "SELECT actor_ref, read_status_source FROM event_read WHERE event_id = %s"
    assert logins.admin.execute(noted, (seen,)).fetchall() == [(OWNER, "oneroof")]
    assert refs(logins.requester) == []
    assert one(logins.admin, still_open, (OWNER,)) == (1,)

    assert inbox.mute(logins.requester, OWNER).changed == 1
    fail_again()
    assert one(logins.admin, "SELECT count(*) FROM event_outbox WHERE event_type = %s", (DLQ,)) == (2,)
    assert refs(logins.requester, everything=True) == []
    inbox.mute(logins.requester, OWNER, on=False)
    assert refs(logins.requester) == [actor.executor]


def test_a_signal_is_there_once_for_each_recipient_however_many_subscriptions_fit(
    logins: Logins, reader: Connection
) -> None:
    """And also if somebody has written it into the outbox twice, or that it was read."""
    inbox.subscribe(logins.requester, OWNER)
    inbox.subscribe(logins.requester, OWNER, event_type=BORN)
    inbox.subscribe(logins.requester, OWNER, stream=STREAM, table="birth_registry")
    inbox.subscribe(logins.requester, "GOV-DOT", event_type=BORN)
    tell(logins, 1, 2)
    logins.admin.execute("ALTER TABLE event_outbox DROP CONSTRAINT event_outbox_pkey")
    logins.admin.execute("INSERT INTO event_outbox SELECT * FROM event_outbox WHERE event_subject_ref = 'T-2'")
    assert refs(reader) == ["T-2", "T-1"] == refs(reader, "GOV-DOT")
    assert inbox.read(logins.requester, OWNER, None) == 2
    assert one(logins.admin, READS, (OWNER, ids(reader, "GOV-DOT"))) == (2,)
    assert (refs(reader), refs(reader, everything=True), refs(reader, "GOV-DOT")) == (
        [],
        ["T-2", "T-1"],
        ["T-2", "T-1"],
    )
    assert inbox.read(logins.requester, OWNER, None) == 0
    logins.admin.execute("INSERT INTO event_read SELECT * FROM event_read WHERE read_status_source = 'oneroof'")
    assert refs(reader, everything=True) == ["T-2", "T-1"]
    assert inbox.listing(reader, OWNER).read == 2


def test_the_same_subscription_twice_is_one(logins: Logins) -> None:
    """Whatever it narrows down to; and a muted one stays muted."""
    known = "SELECT count(*) FROM event_subscription WHERE recipient_ref = 'requester'"
    for said in (
        {},
        {"event_type": BORN},
        {"stream": STREAM},
        {"table": "birth_registry"},
        {"scope": '{"source": "x"}'},
    ):
        assert inbox.subscribe(logins.requester, "requester", **said).is_new
        again = inbox.subscribe(logins.requester, "requester", **said)
        assert (again.is_new, again.is_muted) == (False, False)
    assert one(logins.admin, known) == (5,)
    inbox.mute(logins.requester, "requester", pattern=BORN)
    assert inbox.subscribe(logins.requester, "requester", event_type=BORN).is_muted


def test_a_subscription_narrows_by_type_stream_table_and_payload(logins: Logins, reader: Connection) -> None:
    """All that it says must fit; what it leaves open fits anything."""
    tell(logins, 1)
    tell(logins, 2, kind=RETIRED)
    tell(logins, 3, table="registry_changelog")
    tell(logins, 4, collection="others")
    for recipient, said, expected in (
        ("GOV-DOT", {"event_type": RETIRED}, ["T-2"]),
        ("GOV-MOT", {"stream": "governance.backfill"}, []),
        ("GOV-MOUT", {"stream": STREAM, "table": "registry_changelog"}, ["T-3"]),
        ("GOV-COUNCIL", {"scope": '{"collection_name": "others"}'}, ["T-4"]),
        ("DIEU-32", {"scope": '{"collection_name": "others"}', "event_type": RETIRED}, []),
        ("requester", {}, ["T-4", "T-3", "T-2", "T-1"]),
    ):
        inbox.subscribe(logins.requester, recipient, **said)
        assert refs(reader, recipient) == expected, recipient


def test_what_other_domains_say_is_never_shown(logins: Logins, reader: Connection) -> None:
    """Nor what somebody else wrote into ours, nor with a subscription of every domain."""
    tell(logins, 1)
    logins.admin.execute(
        "INSERT INTO event_outbox (event_domain, event_type, event_stream, delivery_lane, event_subject_table,"
        " event_subject_ref, canonical_address, actor_ref, source_system)"
        " SELECT d, 'x', 'x', 'immediate', 'x', d, 'x', 'x', s"
        " FROM (VALUES ('iu', 'oneroof'), ('governance', 'host')) AS v (d, s)"
    )
    logins.admin.execute(
        "INSERT INTO event_subscription (recipient_ref, event_domain) VALUES ('everything', NULL), ('units', 'iu')"
    )
    assert refs(reader, "everything", everything=True) == ["T-1"]
    assert refs(reader, "units", everything=True) == []
    (foreign,) = one(logins.admin, "SELECT id FROM event_outbox WHERE event_domain = 'iu' AND event_type = 'x'")
    with pytest.raises(Refused, match="not in the inbox"):
        inbox.read(logins.requester, "everything", [foreign])


def test_muting_leaves_other_domains_alone(logins: Logins) -> None:
    """Of the recipient's own subscriptions those that can bring a signal of ours, and nobody else's."""
    logins.admin.execute(
        "INSERT INTO event_subscription (recipient_ref, event_domain, event_type) VALUES ('a', 'iu', NULL),"
        " ('a', NULL, 'iu.cut'), ('a', NULL, NULL), ('a', 'governance', %s), ('b', 'governance', %s)",
        (BORN, BORN),
    )
    muted = (
        "SELECT event_domain, event_type FROM event_subscription WHERE recipient_ref IN ('a', 'b') AND mute ORDER BY 1"
    )
    assert inbox.mute(logins.requester, "a", pattern="governance.handoff.*") == inbox.Muted(1, 1, 0)
    assert logins.admin.execute(muted).fetchall() == [("governance", BORN)]
    assert inbox.mute(logins.requester, "a") == inbox.Muted(2, 1, 1)
    assert logins.admin.execute(muted).fetchall() == [("governance", BORN), (None, None)]
    assert inbox.mute(logins.requester, "a", on=False) == inbox.Muted(2, 2, 1)
    assert logins.admin.execute(muted).fetchall() == []


def test_two_sessions_that_read_at_once_note_it_once(logins: Logins, reader: Connection) -> None:
    """The second waits for the first, and then finds nothing unread."""
    inbox.subscribe(logins.requester, OWNER)
    tell(logins, *range(20))
    chosen = ids(reader)
    noted: list[int] = []
    with connect(as_user(logins.dsn, "approver")) as other:
        late = threading.Thread(target=lambda: noted.append(inbox.read(other, OWNER, None)))
        with transaction(logins.requester, doing="reading slowly"):
            assert inbox.read(logins.requester, OWNER, chosen[:15]) == 15
            late.start()
            waiting = "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND pid = %s"
            eventually(
                lambda: logins.admin.execute(waiting, (other.info.backend_pid,)).fetchone() is not None,
                what="it to wait",
            )
        late.join()
    assert noted == [5]
    assert one(logins.admin, READS, (OWNER, chosen)) == (20,)
    logins.requester.execute("SET default_transaction_isolation = 'repeatable read'")
    with pytest.raises(Refused, match="READ COMMITTED"):
        inbox.read(logins.requester, OWNER, None)


def test_a_limit_says_what_it_cut(logins: Logins, reader: Connection) -> None:
    """The newest are shown, all are counted."""
    inbox.subscribe(logins.requester, OWNER)
    for number in range(5):
        tell(logins, number)
    found = inbox.listing(reader, OWNER, most=2)
    assert ([each.subject_ref for each in found.signals], found.unread, found.left_off) == (["T-4", "T-3"], 5, 3)
    inbox.read(logins.requester, OWNER, [UUID(each.event_id) for each in found.signals])
    found = inbox.listing(reader, OWNER, most=2)
    assert ([each.subject_ref for each in found.signals], found.unread, found.left_off) == (["T-2", "T-1"], 3, 1)
    found = inbox.listing(reader, OWNER, everything=True, most=4)
    assert ([each.subject_ref for each in found.signals], found.unread, found.left_off) == (
        ["T-4", "T-3", "T-2", "T-1"],
        3,
        1,
    )


@pytest.mark.parametrize(
    ("said", "failure"),
    [
        ({"recipient": "nobody at all"}, Refused),
        ({"event_type": "governance.handoff.object_bron"}, Usage),
        ({"event_type": "governance.*"}, Usage),
        ({"event_type": BORN, "stream": STREAM}, Usage),
        ({"stream": "iu.cut"}, Refused),
        ({"table": "public.birth_registry"}, Refused),
        ({"scope": "[]"}, Refused),
        ({"scope": '{"collection_name": ["a"]}'}, Refused),
        ({"scope": '{"colection_name": "a"}'}, Refused),
        ({"scope": "{"}, Usage),
        ({"scope": '{"source": NaN}'}, Usage),
        ({"scope": '{"source": "\\ud800"}'}, Usage),
        ({"scope": '{"source": "\\u0000"}'}, Usage),
        ({"scope": "[" * 2000}, Usage),
        ({"scope": " " * 3000 + "{}"}, Usage),
    ],
)
def test_a_subscription_that_could_never_fit_is_refused(
    logins: Logins, said: dict[str, str], failure: type[OneroofError]
) -> None:
    """With a sentence, and nothing is written."""
    count = "SELECT count(*) FROM event_subscription"
    before = one(logins.admin, count)
    with pytest.raises(failure):
        inbox.subscribe(logins.requester, **{"recipient": OWNER, **said})
    assert one(logins.admin, count) == before


def test_who_is_nobody_has_no_inbox(logins: Logins, reader: Connection) -> None:
    """Nothing to list, to read or to mute; and a reader may list and no more."""
    acts: tuple[Callable[[], object], ...] = (
        lambda: inbox.listing(reader, "nobody"),
        lambda: inbox.read(logins.requester, "nobody", None),
        lambda: inbox.mute(logins.requester, "nobody"),
    )
    for act in acts:
        with pytest.raises(Refused, match="no recipient 'nobody'"):
            act()
    with pytest.raises(Refused, match="no subscription") as refused:
        inbox.mute(logins.requester, OWNER)
    assert refused.value.hint == f"oneroof inbox subscribe {OWNER}"
    inbox.subscribe(logins.requester, OWNER)
    with pytest.raises(Refused, match="of the type"):
        inbox.mute(logins.requester, OWNER, pattern=BORN)
    acts = (
        lambda: inbox.subscribe(reader, OWNER),
        lambda: inbox.read(reader, OWNER, None),
        lambda: inbox.mute(reader, OWNER),
    )
    for act in acts:
        with pytest.raises(Refused, match="permission denied"):
            act()
    with pytest.raises(Refused, match="not in the inbox"):
        inbox.read(logins.requester, OWNER, [uuid4()])


def test_what_was_written_is_audited_and_exported(logins: Logins, reader: Connection, tmp_path: Path) -> None:
    """One row of the audit for each act, and our rows among the host's are known by their mark."""
    inbox.subscribe(logins.requester, OWNER)
    tell(logins, 1, 2)
    inbox.read(logins.requester, OWNER, ids(reader)[:1])
    inbox.mute(logins.requester, OWNER)
    audit = "SELECT entity_code, action FROM registry_changelog WHERE entity_type = 'oneroof.inbox' ORDER BY id"
    done = [(code, action.split()[0], action.split()[-1]) for code, action in logins.admin.execute(audit)]
    assert done == [(OWNER, word, "requester") for word in ("subscribe", "read", "mute")]
    left = channel_export.remaining(logins.admin)
    assert (left["event_read"], left["event_subscription"]) == (1, 1)
    channel_export.export(logins.admin, tmp_path / "ours.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "ours.jsonl").read_text().splitlines()]
    (kept,) = [row["row"] for row in rows if row["table"] == "event_subscription"]
    assert (kept["recipient_ref"], kept["mute"]) == (OWNER, True)


def test_doctor_names_a_trigger_on_what_the_inbox_writes(logins: Logins) -> None:
    """It would run with our rights."""
    logins.admin.execute(
        "CREATE FUNCTION host_seen() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
        "CREATE TRIGGER host_seen BEFORE INSERT ON event_read FOR EACH ROW EXECUTE FUNCTION host_seen()"
    )
    assert any("host_seen" in check.detail for check in doctor.examine(logins.admin).checks)


@pytest.mark.newest
def test_the_whole_way_through_the_command_line(logins: Logins) -> None:
    """Subscribe, list, read and mute, with exit codes and one JSON document; and nothing drives the terminal."""
    logins.activate(BORN)
    dsn = as_user(logins.dsn, "requester")
    assert command("inbox", "mute", OWNER, dsn=dsn).code == 3
    said = '{"collection_name": "bad\\u001b[2Jthings\\u009b\\u202e"}'
    done = command("inbox", "subscribe", OWNER, "--type", BORN, "--filter", said, dsn=dsn)
    assert done.code == 0, done.err
    assert "already" in command("inbox", "subscribe", OWNER, "--type", BORN, "--filter", said, dsn=dsn).out
    tell(logins, 1, 2, 3, collection="bad\x1b[2Jthings\x9b\u202e")
    logins.admin.execute(
        "UPDATE event_outbox SET canonical_address = E'a\\x1b]0;x\\x07b' WHERE event_type = %s", (BORN,)
    )
    listed = command("inbox", "list", OWNER, "--limit", "2", dsn=dsn)
    assert listed.code == 0, listed.err
    assert "3 unread" in listed.err
    assert "1 older" in listed.err
    as_json = command("inbox", "list", OWNER, "--json", dsn=dsn)
    for text in (listed.out, listed.err, as_json.out):
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
    document = json.loads(as_json.out)
    assert (document["unread"], document["left_off"], len(document["signals"])) == (3, 0, 3)
    first = document["signals"][0]["event_id"]
    assert json.loads(command("inbox", "read", OWNER, first, "--json", dsn=dsn).out)["noted"] == 1
    assert command("inbox", "read", OWNER, dsn=dsn).code == 2
    assert command("inbox", "read", OWNER, first, "--all", dsn=dsn).code == 2
    assert command("inbox", "read", OWNER, "not-an-id", dsn=dsn).code == 2
    assert "2 signals" in command("inbox", "read", OWNER, "--all", dsn=dsn).out
    assert "nothing here" in command("inbox", "list", OWNER, dsn=dsn).out
    assert first in command("inbox", "list", OWNER, "--all", dsn=dsn).out
    assert command("inbox", "mute", OWNER, "--type", "governance.handoff.*", dsn=dsn).code == 0
    assert "1 of 1 subscriptions are muted" in command("inbox", "list", OWNER, "--all", dsn=dsn).err
    assert "heard again" in command("inbox", "mute", OWNER, "--off", dsn=dsn).out
    assert command("inbox", "list", "nobody", dsn=dsn).code == 3
