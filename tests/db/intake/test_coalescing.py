"""What the signals of windows say, when a window is told, and that it is told once (doc 32 §5 and §6, doc 41 §41.5)."""

from __future__ import annotations

import pytest

import inventory
import judging
from bed import command, set_clock
from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.findings import store
from oneroof.sources import registration, source
from oneroof.workers import handoff_intake
from oneroof.workers.handoff_intake import HandoffIntake
from telling import again, bear, signals, swept

ADDRESSES = (
    "SELECT event_subject_table, event_subject_ref, canonical_address, safe_payload ? 'collection_name'"
    " FROM event_outbox WHERE event_stream = 'governance.handoff' ORDER BY 1, 2"
)


def take(admin: Connection, name: str = "registry_changelog") -> None:
    judging.intake(admin, registration.find(admin, name))


def test_a_change_without_a_class_is_addressed_by_its_table(logins: Logins) -> None:
    """Doc 41 §41.5: collection_name:entity_code where there is a class; else table:ref, as gov_emit has it."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    admin.execute("CREATE TABLE app_log (id int PRIMARY KEY, at timestamptz, kind text)")
    registration.add(admin, "app_log", key=["id"], timestamp="at", kind=source.CHANGELOG, of_class="kind", ref="id")
    admin.execute("UPDATE oneroof.governance_source SET trusted_at = now() WHERE source_name = 'app_log'")
    admin.execute(
        "INSERT INTO oneroof.governance_handoff_map (map_code, source_name, priority, change_kind, dirties, dimensions,"
        """ description) VALUES ('app', 'app_log', 1, 'object_registered', 'class', '{"class": "@class"}', 'x')"""
    )
    for name in ("app_log", "pivot_definitions"):
        take(admin, name)
    admin.execute("INSERT INTO app_log VALUES (1, now(), 'things'), (2, now(), NULL)")
    admin.execute("INSERT INTO pivot_definitions (code, name) VALUES ('new', 'New')")
    for name in ("app_log", "pivot_definitions"):
        take(admin, name)
    assert admin.execute(ADDRESSES).fetchall() == [
        ("app_log", "1", "things:1", True),
        ("app_log", "2", "app_log:2", False),
        ("pivot_definitions", "new", "pivot_definitions:new", False),
    ]


TIMES = "SELECT event_subject_ref, occurred_at, safe_payload ->> 'occurred_at' FROM event_outbox"
TIMES += " WHERE event_stream = 'governance.handoff' ORDER BY created_at, id"


def test_a_change_of_an_object_carries_the_time_of_the_change_and_not_of_its_birth(logins: Logins) -> None:
    """Doc 32 §6: order per object by occurred_at. Born last year and changed today is changed today; births keep their
    own time; nothing of it makes a replay speak or an audit suspicious.
    """
    admin = logins.admin
    logins.activate("governance.handoff.*")
    swept(admin)
    bear(admin, 1, 1)
    admin.execute("UPDATE birth_registry SET born_at = born_at - interval '300 days' WHERE entity_code = 'T-1'")
    judging.intake(admin, judging.births(admin))
    (before,) = one(admin, "SELECT clock_timestamp()")
    admin.execute("UPDATE birth_registry SET status = 'retired' WHERE entity_code = 'T-1'")
    judging.intake(admin, judging.births(admin))
    (born, _), (changed, said) = [(at, said) for _, at, said in admin.execute(TIMES)]
    assert (born,) == one(admin, "SELECT born_at FROM birth_registry WHERE entity_code = 'T-1'")
    assert before < changed <= one(admin, "SELECT clock_timestamp()")[0]
    assert one(admin, "SELECT %s::timestamptz", (said,)) == (changed,)
    assert again(admin, handoff_intake.NAME, "birth_registry").signals == 0
    judging.audit(admin, judging.births(admin))
    assert [each for each in store.listing(admin) if each.issue_type == "direct_write"] == []


def test_a_row_that_says_when_it_was_changed_is_believed(logins: Logins) -> None:
    """A timestamp that is newer than what was known of the object is the time of its change; any other is not."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    tailed = inventory.make(admin)
    admin.execute("INSERT INTO src VALUES (1, now() - interval '1 day', 'a')")
    inventory.sweep(admin, tailed)
    inventory.intake(admin, tailed)
    (at,) = one(admin, "UPDATE src SET at = clock_timestamp(), status = 'x' RETURNING at")
    inventory.intake(admin, tailed)
    admin.execute("UPDATE src SET status = 'y'")
    inventory.intake(admin, tailed)
    (_, first, _), (_, second, _) = admin.execute(TIMES)
    assert first == at < second


def test_a_change_of_a_register_carries_the_time_of_the_change(logins: Logins) -> None:
    """What was asked for long ago and is ratified today changes today."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    admin.execute(
        "INSERT INTO oneroof.governance_exception (level, subject, reason, valid_from, requested_by, requested_at)"
        " VALUES ('collection', 'contracts', 'why', now(), 'requester', now() - interval '90 days')"
    )
    take(admin, "governance_exception")
    (before,) = one(admin, "SELECT clock_timestamp()")
    admin.execute("UPDATE oneroof.governance_exception SET reason = 'another'")
    take(admin, "governance_exception")
    ((_, at, _),) = admin.execute(TIMES)
    assert at > before
    assert one(admin, "SELECT occurred_at > %s FROM oneroof.governance_group_mark", (before,)) == (True,)


LOG = "INSERT INTO registry_changelog (entity_type, entity_code, action, timestamp) SELECT 't', 'c' || n, 'certify', {}"
MOMENT = "date_trunc('second', now() AT TIME ZONE 'UTC') - interval '{}'"
# Twelve hundred changes of one window that is over: as the fast lane meets them, and as only the walk does.
WINDOW, LATE = (LOG.format(MOMENT.format(past)) + " FROM generate_series(1, 1200) AS n" for past in ("2 s", "1 h"))


def told(admin: Connection) -> list[int]:
    """Of how many changes each signal of the class tells."""
    return [said["changes"] for *_, said in signals(admin) if said.get("object_type") == "t"]


@pytest.mark.parametrize("rows", [WINDOW, LATE], ids=["newest", "late"])
def test_a_window_that_is_read_in_many_batches_is_one_signal(logins: Logins, rows: str) -> None:
    """Doc 32 §5, step 3: a backlog of one window is read to its end before it is told, whichever lane reads it."""
    logins.activate("governance.handoff.*")
    take(logins.admin)
    logins.admin.execute(rows)
    take(logins.admin)
    assert told(logins.admin) == [1200]


@pytest.mark.parametrize("rows", [WINDOW, LATE], ids=["newest", "late"])
def test_a_window_with_poison_in_it_is_one_signal(logins: Logins, rows: str) -> None:
    """Halved and halved again, it is told when all of it was read; what failed is none of it."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    take(admin)
    admin.execute("UPDATE oneroof.governance_worker_policy SET attempts = 1")
    admin.execute(rows.replace("'c' || n", "CASE n WHEN 700 THEN repeat('x', 5000) ELSE 'c' || n END"))
    take(admin)
    assert told(admin) == [1199]


def test_a_window_does_not_wait_for_a_reader_that_never_comes_to_an_end(logins: Logins) -> None:
    """While rows are read it waits for ten seconds, by the server's clock, and is told in the midst of them."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    take(admin)
    admin.execute(WINDOW)
    held = inventory.claim(admin, handoff_intake.NAME, "registry_changelog")
    intake = HandoffIntake(admin, registration.find(admin, "registry_changelog"), held, batch=100, sweep_interval=3600)
    for _ in range(4):
        intake.run_once()
    assert told(admin) == []
    set_clock(admin, "11 seconds")
    intake = HandoffIntake(admin, registration.find(admin, "registry_changelog"), held, batch=100, sweep_interval=3600)
    intake.run_once()
    ((first,), (left,)) = (told(admin), one(admin, "SELECT changes - told FROM oneroof.governance_handoff"))
    assert (400 <= first <= 500, left) == (True, 0)
    inventory.until_idle(intake)
    assert sum(told(admin)) == 1200


def test_a_run_until_idle_leaves_what_waits_for_its_digest(logins: Logins) -> None:
    """It ends all the same, says so, and tells it when the digest is over."""
    admin = logins.admin
    logins.open_gate("governance.workers_enabled")
    logins.activate("governance.handoff.*")
    admin.execute("UPDATE oneroof.governance_worker_policy SET digest_after = 2")
    one_more = LOG.format("now() AT TIME ZONE 'UTC' - %s * interval '1 hour'") + " FROM generate_series(1, 1) AS n"
    untold = []
    for number in range(5):
        admin.execute(one_more, (number,))
        ran = command("run", "--until-idle", "--json", dsn=logins.dsn)
        assert ran.code == 0, ran.err
        untold.append(ran.json["untold"])
    assert (told(admin), untold) == ([1, 1], [0, 0, 1, 1, 1])
    assert "1 group" in command("run", "--until-idle", dsn=logins.dsn).out
    admin.execute("UPDATE oneroof.governance_handoff SET told_at = told_at - interval '10 minutes'")
    assert command("run", "--until-idle", "--json", dsn=logins.dsn).json["untold"] == 0
    assert told(admin) == [1, 1, 3]


def test_what_a_replay_reads_again_is_in_no_later_signal(logins: Logins) -> None:
    """Told, forgotten and read again while its group waits for its digest, which tells what is new, and no more."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    take(admin)
    at = "now() AT TIME ZONE 'UTC' + %s * interval '1 minute'"
    one_more = LOG.format(at) + " FROM generate_series(1, 1) AS n"
    for minutes in (1, 2, 3):
        admin.execute(one_more, (minutes,))
        take(admin)
    assert told(admin) == [1, 1, 1]
    admin.execute("UPDATE oneroof.governance_worker_policy SET digest_after = 1")
    admin.execute(
        "DELETE FROM oneroof.governance_handoff WHERE window_start < (SELECT max(window_start) FROM"
        " oneroof.governance_handoff)"
    )
    assert again(admin, handoff_intake.NAME, "registry_changelog").signals == 0
    assert one(admin, "SELECT count(*), sum(changes - told) FROM oneroof.governance_handoff") == (3, 0)
    admin.execute(one_more, (0,))
    take(admin)
    assert told(admin) == [1, 1, 1]
    admin.execute("UPDATE oneroof.governance_handoff SET told_at = told_at - interval '10 minutes'")
    take(admin)
    assert told(admin) == [1, 1, 1, 1]
