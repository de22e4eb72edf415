"""What is handed off is told: each change once, held until its type is active, a group once in a window (doc 32 §5)."""

from __future__ import annotations

from typing import Any

import pytest

import inventory
import judging
from bed import command
from inventory import impatient, settle
from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import Usage
from oneroof.fence.lease import claim, executor_name, release
from oneroof.findings import store
from oneroof.people import requests
from oneroof.runtime.watch import watch
from oneroof.sources import registration
from oneroof.workers import backfill_sweep, handoff_intake
from telling import again, bear, hand_off, signals, swept

BORN = "governance.handoff.object_born"
GATE = "governance.workers_enabled"
HELD = (
    "SELECT event_type_hint, entity_table, entity_ref FROM event_pending WHERE processed_at IS NULL"
    " AND event_type_hint LIKE 'governance.handoff.%' ORDER BY created_at, entity_ref"
)
LOG = "INSERT INTO registry_changelog (entity_type, entity_code, action, timestamp) VALUES ('t', %s, 'certify', {})"
NOW = LOG.format("now() AT TIME ZONE 'UTC'")


def effects(admin: Connection) -> tuple[Any, ...]:
    """Everything that a replay could add to."""
    return one(
        admin,
        "SELECT (SELECT count(*) FROM event_outbox), (SELECT count(*) FROM event_pending),"
        " (SELECT count(*) FROM oneroof.governance_event),"
        " (SELECT md5(string_agg(c::text, ',' ORDER BY candidate_key)) FROM oneroof.governance_candidate_state AS c),"
        " (SELECT count(*) FROM oneroof.governance_duplicate), (SELECT sum(members) FROM oneroof.governance_ledger),"
        " (SELECT string_agg(format('%s %s %s %s', change_kind, group_key, window_start, changes), ',' ORDER BY 1)"
        "  FROM (SELECT * FROM oneroof.governance_handoff ORDER BY change_kind, group_key, window_start) AS h)",
    )


def test_fifty_births_before_activation_are_held_and_then_promoted_each_once(logins: Logins) -> None:
    """0 signals and all held; after activation each once, through a real run; and again nothing."""
    swept(logins.admin)
    bear(logins.admin, 1, 50)
    judging.intake(logins.admin, judging.births(logins.admin))
    assert signals(logins.admin) == []
    held = logins.admin.execute(HELD).fetchall()
    assert {(kind, table) for kind, table, _ in held} == {(BORN, "birth_registry")}
    assert sorted(ref for *_, ref in held) == sorted(f"things:T-{n}" for n in range(1, 51))
    logins.open_gate(GATE)
    logins.activate(BORN)
    for _ in range(2):
        done = command("run", "--until-idle", dsn=logins.dsn)
        assert done.code == 0, done.err
        found = signals(logins.admin)
        assert sorted(ref for _, _, ref, _ in found) == sorted(f"things:T-{n}" for n in range(1, 51))
        assert logins.admin.execute(HELD).fetchall() == []
    assert one(logins.admin, "SELECT count(*) FROM event_pending WHERE processed_at IS NOT NULL")[0] >= 50


def test_every_change_of_an_object_is_told_with_its_kind_and_where_it_came_from(logins: Logins) -> None:
    """Born, changed, retired: the change number tells them apart, and the provenance travels (doc 32 §7)."""
    logins.activate("governance.handoff.*")
    swept(logins.admin)
    bear(logins.admin, 1, 1)
    tailed = judging.births(logins.admin)
    judging.intake(logins.admin, tailed)
    for change in ("certified = true", "certified = true", "status = 'retired'"):
        logins.admin.execute(f"UPDATE birth_registry SET {change} WHERE entity_code = 'T-1'")
        judging.intake(logins.admin, tailed)
    told = [(kind, ref, said["change_number"]) for kind, _, ref, said in signals(logins.admin)]
    assert told == [
        ("object_born", "things:T-1", 1),
        ("object_registered", "things:T-1", 2),
        ("object_retired", "things:T-1", 3),
    ]
    *_, said = signals(logins.admin)[0]
    assert said.keys() == {
        "source",
        "change_kind",
        "change_number",
        "object_type",
        "collection_name",
        "group_key",
        "source_system",
        "actor_ref",
        "occurred_at",
    }
    assert (said["source"], said["source_system"], said["actor_ref"]) == ("birth_registry", "birth_gate", "host")


def test_a_row_of_a_class_registry_is_an_object_registered(logins: Logins) -> None:
    """Doc 32 §3, kind 2: of any inventory but the birth registry, when it is new and when it changes."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    tailed = inventory.make(admin)
    inventory.sweep(admin, tailed)
    inventory.intake(admin, tailed)
    for change in ("INSERT INTO src VALUES (1, now(), 'a')", "UPDATE src SET status = 'grown'"):
        admin.execute(change)
        inventory.intake(admin, tailed)
    assert [(kind, table, said["change_number"]) for kind, table, _, said in signals(admin)] == [
        ("object_registered", "src", 1),
        ("object_registered", "src", 2),
    ]


def test_a_group_is_told_of_once_in_a_window_and_again_if_more_comes(logins: Logins) -> None:
    """Two changes at once are one signal with their number; one that comes later is another; read again, none."""
    logins.activate("governance.handoff.*")
    judging.intake(logins.admin, registration.find(logins.admin, "registry_changelog"))
    for ref in ("a", "b"):
        logins.admin.execute(LOG.format("date_trunc('second', now() AT TIME ZONE 'UTC')"), (ref,))
    judging.intake(logins.admin, registration.find(logins.admin, "registry_changelog"))
    first = [(kind, table, said["changes"]) for kind, table, _, said in signals(logins.admin)]
    assert first in (
        [("object_registered", "registry_changelog", 2)],
        [("object_registered", "registry_changelog", 1)] * 2,
    )
    logins.admin.execute(LOG.format("(SELECT max(timestamp) FROM registry_changelog WHERE entity_type = 't')"), ("c",))
    judging.intake(logins.admin, registration.find(logins.admin, "registry_changelog"))
    told = signals(logins.admin)
    assert (told[-1][2], told[-1][3]["changes"]) == ("c", 1)
    before = effects(logins.admin)
    assert again(logins.admin, handoff_intake.NAME, "registry_changelog", since="2026-11-01").signals == 0
    assert effects(logins.admin) == before


def test_windows_that_were_merged_are_not_told_apart_when_they_are_read_again(logins: Logins) -> None:
    """A backlog of many windows of one group is few signals; forgotten and read again, it is none."""
    logins.activate("governance.handoff.*")
    tailed = registration.find(logins.admin, "registry_changelog")
    judging.intake(logins.admin, tailed)
    for seconds in range(10):
        logins.admin.execute(LOG.format(f"(now() AT TIME ZONE 'UTC') - interval '{seconds * 3} seconds'"), ("a",))
    judging.intake(logins.admin, tailed)
    told = [said["changes"] for *_, said in signals(logins.admin)]
    assert sum(told) == 10 > len(told)
    logins.admin.execute("DELETE FROM oneroof.governance_handoff")
    done = again(logins.admin, handoff_intake.NAME, "registry_changelog", since="2026-11-01")
    assert (done.signals, len(signals(logins.admin))) == (0, len(told))


def test_a_group_that_is_told_of_too_often_waits_for_its_digest(logins: Logins) -> None:
    """After so many signals within the interval there is one for all that follows."""
    logins.activate("governance.handoff.*")
    logins.admin.execute("UPDATE oneroof.governance_worker_policy SET digest_after = 3")
    tailed = registration.find(logins.admin, "registry_changelog")
    judging.intake(logins.admin, tailed)
    for number in range(3):
        logins.admin.execute(NOW, (f"{number}",))
        judging.intake(logins.admin, tailed)
    assert len(signals(logins.admin)) == 3
    window = (
        "INSERT INTO oneroof.governance_handoff SELECT source_name, change_kind, group_key,"
        " window_start + %s * interval '1 day', window_end - interval '1 hour', class, 5, 0, 0, NULL, false,"
        " occurred_at, ref, NULL, NULL, untold_since"
        " FROM oneroof.governance_handoff ORDER BY window_start DESC LIMIT 1"
    )
    for day in (1, 2):
        logins.admin.execute(window, (day,))
    assert one(logins.admin, "SELECT oneroof.gov_changes_emit('registry_changelog', 'over')") == (0,)
    logins.admin.execute("UPDATE oneroof.governance_handoff SET told_at = told_at - interval '10 minutes'")
    assert one(logins.admin, "SELECT oneroof.gov_changes_emit('registry_changelog', 'over')") == (2,)
    assert signals(logins.admin)[-1][3]["changes"] == 10


@pytest.mark.parametrize("worker", [backfill_sweep.NAME, handoff_intake.NAME])
def test_a_replay_adds_nothing_to_what_is_complete_and_only_what_is_missing_to_what_is_not(
    logins: Logins, worker: str
) -> None:
    """Doc 32 §6 and promise 5: 0 effects, 0 signals; a dry run says what a real one then does."""
    logins.activate("governance.handoff.*")
    admin = logins.admin
    swept(admin)
    bear(admin, 1, 20)
    judging.intake(admin, judging.births(admin))
    before = effects(admin)
    (rows,) = one(admin, "SELECT count(*) FROM birth_registry")
    for since, seen in (("start", rows), ("2026-11-01", 20)):
        done = again(admin, worker, "birth_registry", since=since)
        assert (done.seen, done.written, done.signals) == (seen, 0, 0)
    assert effects(admin) == before
    admin.execute("DELETE FROM oneroof.governance_candidate_state WHERE candidate_key IN ('things:T-3', 'things:T-4')")
    missing = effects(admin)
    would = again(admin, worker, "birth_registry", dry=True)
    assert (would.written, effects(admin)) == (2, missing)
    did = again(admin, worker, "birth_registry")
    # Both were told before they were lost, and are not told again.
    assert (did.written, did.signals) == (2, 0) == (would.written, would.signals)
    assert one(
        admin, "SELECT count(*) FROM oneroof.governance_candidate_state WHERE candidate_key LIKE 'things:T-%'"
    ) == (20,)
    assert again(admin, worker, "birth_registry").written == 0


def test_what_cannot_be_replayed_is_said(logins: Logins) -> None:
    """Workers that read no source, sources that nobody sweeps, moments that are none."""
    admin = logins.admin
    for worker, name, since, why in (
        ("gov_candidate_scan", "birth_registry", "start", "reads no source"),
        (backfill_sweep.NAME, "registry_changelog", "start", "nobody sweeps"),
        (handoff_intake.NAME, "collection_registry", "2026-01-01", "no timestamp"),
        (handoff_intake.NAME, "birth_registry", "yesterdayish", "is no timestamp"),
    ):
        with pytest.raises(Usage, match=why):
            again(admin, worker, name, since=since)


@pytest.mark.parametrize("name", ["birth_registry", "registry_changelog", "normative_registry"])
def test_what_nobody_has_read_for_the_first_time_cannot_be_read_again(logins: Logins, name: str) -> None:
    """What was there before is no change, and a replay that comes first would tell all of it."""
    logins.activate("governance.handoff.*")
    before = effects(logins.admin)
    for dry in (True, False):
        with pytest.raises(Usage, match="has not been read"):
            again(logins.admin, handoff_intake.NAME, name, dry=dry)
    assert effects(logins.admin) == before


def test_the_command_replays_behind_a_gate_and_a_lease(logins: Logins) -> None:
    """Exit 3 while the gate is closed, 5 while somebody has the lease, else what it did."""
    words = ("replay", "handoff_intake", "birth_registry", "--from", "start", "--dry-run", "--json")
    assert command(*words, dsn=logins.dsn).code == 3
    logins.open_gate(GATE)
    swept(logins.admin)
    held = claim(logins.admin, executor_name(handoff_intake.NAME, "birth_registry"), instance="other")
    assert command(*words, dsn=logins.dsn).code == 5
    release(logins.admin, held)
    done = command(*words, dsn=logins.dsn)
    assert done.code == 0, done.err
    (rows,) = one(logins.admin, "SELECT count(*) FROM birth_registry")
    assert (done.json["seen"], done.json["written"], done.json["signals"]) == (rows, 0, 0)


def test_signals_of_an_untrusted_source_are_kept_until_two_people_trust_it(logins: Logins) -> None:
    """Doc 32 §7: captured, flagged, and emitted when trust is established through an approval, each once."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    judging.intake(admin, registration.find(admin, "registry_changelog"))
    admin.execute("UPDATE oneroof.governance_source SET trusted_at = NULL WHERE source_name = 'registry_changelog'")
    admin.execute(NOW, ("a",))
    judging.intake(admin, registration.find(admin, "registry_changelog"))
    assert watch(admin).promoted == 0
    assert signals(admin) == []
    assert [ref for *_, ref in admin.execute(HELD)] == ["a"]
    number = registration.request_trust(logins.requester, "registry_changelog", reason="known")
    requests.decide(logins.approver, number, "approved")
    assert [watch(admin).promoted, watch(admin).promoted] == [1, 0]
    assert [ref for _, _, ref, _ in signals(admin)] == ["a"]


def test_the_heartbeat_is_said_once_in_an_interval_and_never_held(logins: Logins) -> None:
    """{seen, coalesced, enqueued, dlq}; without an active type nothing is kept for later."""
    admin = logins.admin
    swept(admin)
    held = claim(admin, executor_name(handoff_intake.NAME, "birth_registry"), instance="here")
    watch(admin)
    beats = "SELECT safe_payload FROM event_outbox WHERE event_type = 'governance.handoff.heartbeat'"
    pending = "SELECT count(*) FROM event_pending WHERE event_type_hint = 'governance.handoff.heartbeat'"
    assert (admin.execute(beats).fetchall(), one(admin, pending)) == ([], (0,))
    logins.activate("governance.handoff.heartbeat")
    for _ in range(3):
        watch(admin)
    said = [payload for (payload,) in admin.execute(beats)]
    assert len(said) in (1, 2)
    assert said[0].keys() >= {"seen", "coalesced", "enqueued", "dlq"}
    release(admin, held)


def test_a_batch_that_did_something_leaves_one_audit_row_and_one_that_did_not_leaves_none(logins: Logins) -> None:
    """Doc 32 §2; and the audit rows themselves are no work."""
    admin = logins.admin
    swept(admin)
    rows = "SELECT action FROM registry_changelog WHERE entity_type = 'oneroof.handoff' ORDER BY id"
    bear(admin, 1, 7)
    settle(admin)
    judging.intake(admin, judging.births(admin))
    assert [action for (action,) in admin.execute(rows)] == ["take seen=7 marked=7"]
    for _ in range(2):
        judging.intake(admin, judging.births(admin))
        judging.intake(admin, registration.find(admin, "registry_changelog"))
    assert len(admin.execute(rows).fetchall()) == 1


def test_a_dead_letter_and_an_attempt_that_went_well_leave_an_audit_row(logins: Logins) -> None:
    """Doc 32 §2: one for each batch that did something and for each event of the dead letters, and none says more."""
    admin = logins.admin
    take = registration.find(admin, "registry_changelog")
    judging.intake(admin, take)
    impatient(admin, attempts=2)
    admin.execute(
        "INSERT INTO registry_changelog (entity_type, entity_code, action) VALUES ('t', repeat('x', 5000), 'a')"
    )
    judging.intake(admin, take)
    rows = "SELECT action FROM registry_changelog WHERE entity_type = 'oneroof.handoff' ORDER BY id"
    assert [action for (action,) in admin.execute(rows)] == ["dead letters=1"]
    admin.execute("ALTER TABLE oneroof.governance_handoff DROP CONSTRAINT ref_is_short")
    admin.execute("SELECT oneroof.gov_retry_replay(array_agg(item_id)) FROM oneroof.governance_retry")
    judging.intake(admin, take)
    assert [action for (action,) in admin.execute(rows)] == ["dead letters=1", "retry seen=1 marked=1"]


def test_sweeps_and_scans_say_that_they_are_done(logins: Logins) -> None:
    """`sweep_completed` and `scan_completed`, each once for each time."""
    admin = logins.admin
    logins.activate("governance.*.scan_completed", "governance.*.sweep_completed")
    tailed = judging.births(admin)
    judging.sweep(admin, tailed)
    judging.judge(admin, tailed)
    done = "SELECT event_type, count(*) FROM event_outbox WHERE event_type LIKE '%_completed' GROUP BY 1 ORDER BY 1"
    first = admin.execute(done).fetchall()
    assert {kind for kind, _ in first} == {
        "governance.backfill.sweep_completed",
        "governance.candidate.scan_completed",
        "governance.coverage.scan_completed",
    }
    judging.sweep(admin, tailed)
    judging.judge(admin, tailed)
    assert admin.execute(done).fetchall() == first


def test_the_audit_finds_what_was_written_past_gov_emit(logins: Logins) -> None:
    """A row that the owner of the outbox inserts or alters is a finding with its id, and closes when it is gone."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    swept(admin)
    bear(admin, 1, 3)
    judging.intake(admin, judging.births(admin))

    def examine() -> list[Any]:
        judging.audit(admin, judging.births(admin))
        return [each.details["samples"] for each in store.listing(admin) if each.issue_type == "direct_write"]

    assert examine() == []
    (altered,) = one(admin, "SELECT id::text FROM event_outbox WHERE event_subject_ref = 'things:T-2'")
    admin.execute("UPDATE event_outbox SET safe_payload = '{\"contents\": 1}' WHERE id = %s", (altered,))
    assert examine() == [[altered]]
    assert examine() == [[altered]]
    admin.execute("DELETE FROM event_outbox WHERE id = %s", (altered,))
    assert examine() == []


def test_a_signal_that_is_in_the_outbox_and_that_nobody_knows_of_stops_nobody(logins: Logins) -> None:
    """What is remembered of signals is lost behind our back: those that are there stay, and work goes on."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    swept(admin)
    bear(admin, 1, 3)
    tailed = judging.births(admin)
    judging.intake(admin, tailed)
    admin.execute("DELETE FROM oneroof.governance_event")
    admin.execute("DELETE FROM oneroof.governance_candidate_state WHERE candidate_key LIKE 'things:%'")
    assert again(admin, handoff_intake.NAME, "birth_registry").written == 3
    assert len(signals(admin)) == 3


def test_what_was_untold_before_is_no_signal_of_a_replay(logins: Logins) -> None:
    """Neither of one that is tried nor of one that is done; and it is told."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    swept(admin)
    bear(admin, 1, 3)
    hand_off(admin)
    assert (one(admin, "SELECT sum(many) FROM oneroof.governance_untold"), signals(admin)) == ((3,), [])
    admin.execute("DELETE FROM oneroof.governance_candidate_state WHERE candidate_key = 'things:T-2'")
    bear(admin, 4, 4)
    tried = again(admin, handoff_intake.NAME, "birth_registry", dry=True)
    assert (tried.written, tried.signals, signals(admin)) == (2, 1, [])
    done = again(admin, handoff_intake.NAME, "birth_registry")
    assert (done.written, done.signals, len(signals(admin))) == (2, 1, 4)


def test_changes_without_a_time_of_their_own_are_read_again_and_none_fails(logins: Logins) -> None:
    """Infinite and beyond: a replay marks what they are about, and tells nothing twice."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    judging.intake(admin, registration.find(admin, "registry_changelog"))
    for at in ("'infinity'", "'12000-01-01'", "now() AT TIME ZONE 'UTC'"):
        admin.execute(LOG.format(at), ("a",))
    judging.intake(admin, registration.find(admin, "registry_changelog"))
    before = len(signals(admin))
    done = again(admin, handoff_intake.NAME, "registry_changelog", since="2026-11-01")
    assert (done.failed, done.signals, len(signals(admin))) == (0, 0, before)


def test_a_replay_goes_by_the_window_of_the_policy(logins: Logins) -> None:
    """Whoever has made windows longer has nothing told twice by a replay."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    admin.execute("UPDATE oneroof.governance_worker_policy SET coalesce_window = '1 minute'")
    tailed = registration.find(admin, "registry_changelog")
    judging.intake(admin, tailed)
    minute = "date_trunc('minute', now() AT TIME ZONE 'UTC') - interval '5 minutes' + interval '{} seconds'"
    for seconds in (1, 20):
        admin.execute(LOG.format(minute.format(seconds)), ("a",))
    judging.intake(admin, tailed)
    assert len(signals(admin)) == 1
    admin.execute("DELETE FROM oneroof.governance_handoff")
    done = again(admin, handoff_intake.NAME, "registry_changelog", since="2026-11-01")
    assert (done.signals, len(signals(admin))) == (0, 1)
