"""The handoff with whole processes: doc 41 §41.11, doc 32 §6, and what an estate does to it at its worst."""

from __future__ import annotations

import functools
import signal
import threading
from pathlib import Path

import pytest

from bed import command, eventually, spawn
from by_hand import set_policy
from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.estate.live import live
from process import Process
from telling import bear

pytestmark = pytest.mark.slow

WORKERS = "governance.workers_enabled"
BORN = "governance.handoff.object_born"
TTL = 1.0
LOG = "INSERT INTO registry_changelog (entity_type, entity_code, action) SELECT %s, n::text, 'certify'"
GROWING = (
    "event_outbox",
    "event_pending",
    "registry_changelog",
    "system_issues",
    "oneroof.governance_event",
    "oneroof.governance_handoff",
)


@pytest.fixture
def people(logins: Logins) -> Logins:
    """The workers may run, everything is swept and judged, and what is handed off is told."""
    logins.open_gate(WORKERS)
    logins.activate("governance.handoff.*")
    run(logins)
    return logins


def run(people: Logins, *workers: str) -> None:
    done = command("run", *workers, "--until-idle", dsn=people.dsn)
    assert done.code == 0, done.err


def told(admin: Connection, kind: str = BORN) -> int:
    (rows, distinct) = one(
        admin, "SELECT count(*), count(DISTINCT event_subject_ref) FROM event_outbox WHERE event_type = %s", (kind,)
    )
    assert rows == distinct
    return int(rows)


def is_told(admin: Connection, *, more_than: int) -> bool:
    return told(admin) > more_than


def dead(admin: Connection) -> int:
    return int(one(admin, "SELECT count(*) FROM oneroof.governance_retry WHERE state = 'dead'")[0])


def finding(admin: Connection, issue_type: str) -> bool:
    (found,) = one(
        admin, "SELECT EXISTS (SELECT FROM oneroof.v_finding WHERE issue_type = %s AND is_open)", (issue_type,)
    )
    return bool(found)


def sizes(admin: Connection) -> dict[str, int]:
    return {name: int(one(admin, f"SELECT count(*) FROM {name}")[0]) for name in GROWING}


def peak_memory(process: Process) -> int:
    """The most that a process has had in memory, in MiB."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) // 1024


def flood(people: Logins, rows: int) -> int:
    """So many changes of one group and five that cannot be applied, taken by a process; its memory in MiB."""
    people.admin.execute(
        "UPDATE oneroof.governance_worker_policy SET attempts = 1 WHERE worker_name = 'gov_handoff_intake'"
    )
    people.admin.execute(f"{LOG} FROM generate_series(1, {rows}) AS n", ("flooded",))
    people.admin.execute(
        "INSERT INTO registry_changelog (entity_type, entity_code, action)"
        " SELECT 'flooded', repeat('x', 3000) || n, 'certify' FROM generate_series(1, 5) AS n"
    )
    # Its memory is to be its own from the first page on.
    process = spawn("run", "handoff_intake", dsn=people.dsn, fresh=True)
    try:
        taken = "SELECT coalesce(sum(changes), 0) FROM oneroof.governance_handoff WHERE class = 'flooded'"
        eventually(lambda: one(people.admin, taken) == (rows,), what="the flood to be taken", seconds=600)
        eventually(lambda: dead(people.admin) == 5, what="the poison to be dead", seconds=60)
        return peak_memory(process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def check_flood(people: Logins, memory: int) -> None:
    mark = "SELECT count(*) FROM oneroof.governance_group_mark WHERE class = 'flooded'"
    assert one(people.admin, mark) == (1,)
    assert one(people.admin, "SELECT count(*) FROM oneroof.governance_group_mark WHERE dirty") == (1,)
    assert finding(people.admin, "group_invalidation_storm")
    assert finding(people.admin, "handoff_dlq") or command("watch", "--once", dsn=people.dsn).code == 1
    assert memory < 256


def test_a_storm_of_changes_in_one_group(people: Logins) -> None:
    """A hundred thousand changes and five poison rows: one mark, a storm finding, five dead letters, little memory."""
    check_flood(people, flood(people, 100_000))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_million_changes_in_one_group(people: Logins) -> None:
    """The same with 10⁶."""
    check_flood(people, flood(people, 1_000_000))


def test_doc41_11_4_no_lost_handoff(people: Logins) -> None:
    """Kill the intake mid-tail, again and again: at the end every change is processed and told once; poison is a dead
    letter, visible; the audit has nothing left to reconcile.
    """
    admin = people.admin
    set_policy(admin, lease_ttl=f"{TTL} seconds", batch_size="50", attempts="1")
    for part in range(4):
        process = spawn("run", "handoff_intake", dsn=people.dsn)
        bear(admin, 1 + part * 500, (part + 1) * 500)
        eventually(functools.partial(is_told, admin, more_than=part * 500), what="some to be told", seconds=60)
        process.kill()
        process.communicate()
    admin.execute(
        "INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('things', repeat('é', 3000), now())"
    )
    # The leases of the last one are its own for a while.
    threading.Event().wait(TTL + 1)
    run(people, "handoff_intake")
    assert told(admin) == 2000
    assert dead(admin) == 1
    run(people)
    proved = command("prove", dsn=people.dsn)
    assert proved.code == 0, proved.out
    assert told(admin) == 2000


def test_doc41_11_6_silent_gap(people: Logins) -> None:
    """Stop the intake: `handoff_silent_gap` within two TTLs of looks, and closed when it ticks again."""
    set_policy(people.admin, lease_ttl=f"{TTL} seconds")
    process = spawn("run", "handoff_intake", dsn=people.dsn)
    leases = (
        "SELECT count(*) FROM queue_heartbeat WHERE executor_name LIKE 'gov_handoff_intake:%' AND lease_owner <> ''"
    )
    eventually(lambda: one(people.admin, leases)[0] > 1, what="the leases to be held")
    process.send_signal(signal.SIGSTOP)

    def gap() -> bool:
        command("watch", "--once", dsn=people.dsn)
        return finding(people.admin, "handoff_silent_gap")

    eventually(gap, what="the gap to be found", seconds=20)
    process.send_signal(signal.SIGCONT)
    eventually(lambda: not gap(), what="the gap to close", seconds=30)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    # One for each time that a gap began; on a busy machine a gap may begin again.
    begun = "SELECT count(*) FROM event_outbox WHERE event_type = 'governance.handoff.silent_gap'"
    assert one(people.admin, begun)[0] >= 1


def test_doc32_6_replay_and_idempotency(people: Logins) -> None:
    """Replayed from the beginning and from a moment, by both workers and for all sources: nothing is added."""
    admin = people.admin
    bear(admin, 1, 30)
    admin.execute(f"{LOG} FROM generate_series(1, 30) AS n", ("t",))
    run(people)
    before = sizes(admin)
    for worker, name in (
        ("backfill_sweep", "birth_registry"),
        ("handoff_intake", "birth_registry"),
        ("handoff_intake", "registry_changelog"),
        ("handoff_intake", "collection_registry"),
    ):
        done = command("replay", worker, name, "--from", "start", "--json", dsn=people.dsn)
        assert done.code == 0, done.err
        assert (done.json["written"], done.json["signals"]) == (0, 0), (worker, name)
    # A replay leaves one audit row of its own.
    after = sizes(admin)
    assert {**after, "registry_changelog": 0} == {**before, "registry_changelog": 0}
    assert after["registry_changelog"] - before["registry_changelog"] == 4


def test_births_during_the_first_sweep_are_accounted_once_and_the_books_close(logins: Logins) -> None:
    """Backfill and live births together: no object twice, none missed, every signal once."""
    logins.open_gate(WORKERS)
    logins.activate("governance.handoff.*")
    set_policy(logins.admin, batch_size="100")
    stop = threading.Event()
    thread = threading.Thread(target=lambda: live(logins.worker, rate=300, stop=stop))
    thread.start()
    process = spawn("run", dsn=logins.dsn)
    swept = (
        "SELECT count(*) FROM oneroof.gov_worker_cursor WHERE worker_name = 'gov_backfill_sweep' AND frontier"
        " IS NOT NULL"
    )
    try:
        eventually(lambda: one(logins.admin, swept) == (1,), what="the sweep to end", seconds=60)
        eventually(lambda: is_told(logins.admin, more_than=300), what="births to be told", seconds=60)
    finally:
        stop.set()
        thread.join()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    run(logins)
    run(logins, "periodic_full_audit")
    run(logins)
    proved = command("prove", dsn=logins.dsn)
    assert proved.code == 0, proved.out
    double = (
        "SELECT count(*) FROM (SELECT FROM oneroof.governance_candidate_state GROUP BY candidate_key HAVING"
        " count(*) > 1) AS d"
    )
    assert one(logins.admin, double) == (0,)
    twice = "SELECT count(*) - count(DISTINCT id) FROM event_outbox"
    assert one(logins.admin, twice) == (0,)


@pytest.mark.parametrize(
    "seconds", [4, pytest.param(60, marks=[pytest.mark.soak, pytest.mark.timeout(300)])], ids=["short", "a minute"]
)
def test_a_quiet_host_stays_quiet(people: Logins, seconds: int) -> None:
    """Everything runs and nothing happens outside: what oneroof wrote itself starts no work, and nothing grows."""
    # Of heartbeats, which come all the same, one is enough.
    people.admin.execute("UPDATE oneroof.governance_worker_policy SET heartbeat_interval = '1000 days'")
    bear(people.admin, 1, 20)
    people.admin.execute(f"{LOG} FROM generate_series(1, 20) AS n", ("t",))
    run(people)
    process = spawn("run", dsn=people.dsn)
    # An earlier run may have said one of the interval before.
    said = """SELECT EXISTS (SELECT FROM oneroof.governance_event WHERE event_id =
           oneroof.gov_event_id('gov_handoff_intake'::text,
      'heartbeat'::text, floor(extract(epoch FROM now()) / 86400000)::bigint, 'governance.handoff.heartbeat'::text))"""
    try:
        eventually(lambda: one(people.admin, said) == (True,), what="the heartbeat")
        threading.Event().wait(4)
        before = sizes(people.admin)
        threading.Event().wait(seconds)
        assert sizes(people.admin) == before
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
