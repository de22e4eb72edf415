"""A run until idle: who waits for whom, and that a long turn costs nobody a lease."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any

import pytest

from bed import connect
from by_hand import Server, server
from oneroof import lane, lease, watch
from oneroof.connection import Connection
from oneroof.errors import HeldElsewhere
from oneroof.lane import Lane
from oneroof.lease import Lease
from oneroof.report import Report
from oneroof.step import MOVED, Step
from oneroof.supervisor import NAMES, Supervisor
from oneroof.watch import Seen
from oneroof.workers import backfill_sweep, candidate_scan, handoff_intake, input_gate
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.handoff_intake import HandoffIntake

JUDGES = [handoff_intake.NAME, input_gate.NAME, candidate_scan.NAME]
TTL = 2.0
# How long ago the lease of an intake ticked that has waited longest, in seconds.
OLDEST_TICK = """SELECT extract(epoch FROM coalesce(max(clock_timestamp() - last_tick_at), '0'))::float8
FROM queue_heartbeat WHERE executor_name LIKE 'gov_handoff_intake:%' AND lease_owner <> ''"""


def run(host: Server, workers: list[str]) -> list[Report]:
    """What the executors did, in order."""
    return run_telling(host, workers, [])


def run_telling(host: Server, workers: list[str], told: list[Report]) -> list[Report]:
    """The same, added to what was told before."""
    Supervisor(
        dial=lambda: connect(host.dsn()),
        workers=workers,
        instance="test",
        mode="until idle",
        stop=threading.Event(),
        tell=told.append,
    ).run()
    return told


def oldest_tick(admin: Connection) -> float:
    row = admin.execute(OLDEST_TICK).fetchone()
    assert row is not None
    return float(row[0])


def test_a_long_turn_does_not_cost_others_their_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """One intake has work for twice as long as a lease is good, when all others have theirs."""
    turn, turns, until, ages = HandoffIntake.run_once, 0, float("inf"), list[float]()

    with server() as host, connect(host.dsn()) as admin:
        admin.execute("UPDATE oneroof.governance_worker_policy SET lease_ttl = make_interval(secs => %s)", [TTL])

        def busy(intake: HandoffIntake) -> Step:
            nonlocal turns, until
            step = turn(intake)
            if intake.name != "registry_changelog":
                return step
            turns += 1
            # Before its second turn all others had one.
            if turns > 1:
                until = min(until, monotonic() + 2 * TTL)
            if monotonic() >= until:
                return step
            ages.append(oldest_tick(admin))
            return MOVED

        monkeypatch.setattr(HandoffIntake, "run_once", busy)
        run(host, [handoff_intake.NAME])
    assert len(ages) > 10
    assert max(ages) < TTL


def test_followers_begin_when_the_intake_has_had_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long that is, up to their patience; and where no intake is run they do not wait for one."""
    monkeypatch.setattr(lane, "HEAD_START", 3600.0)
    with server() as host:
        assert run(host, JUDGES)[0].executor == f"{handoff_intake.NAME}:birth_registry"
        assert run(host, [input_gate.NAME])[0].executor == f"{input_gate.NAME}:birth_registry"


def test_followers_open_no_connection_while_the_intake_has_all_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has both processors for itself until it has come to its end; but where another process has its leases, they do
    not wait for it.
    """
    monkeypatch.setattr(lane, "HEAD_START", 3600.0)
    turn, dialled, met = HandoffIntake.run_once, list[str](), list[set[str]]()

    def noted(intake: HandoffIntake) -> Step:
        step = turn(intake)
        if intake.name == "birth_registry" and not step.idle:
            met.append(set(dialled))
        return step

    monkeypatch.setattr(HandoffIntake, "run_once", noted)
    with server() as host, connect(host.dsn()) as admin:

        def dial() -> Connection:
            dialled.append(threading.current_thread().name)
            return connect(host.dsn())

        run(host, list(NAMES))
        admin.execute("UPDATE birth_registry SET status = 'changed' WHERE id % 3 = 0")
        met.clear()
        Supervisor(
            dial=dial,
            workers=JUDGES,
            instance="test",
            mode="until idle",
            stop=threading.Event(),
            tell=lambda _: None,
        ).run()
        assert met
        # The one who asked for the gate goes on as the intake's, and may have somebody beside.
        assert all(name in ("MainThread", "lane 0") or name.startswith("aside") for each in met for name in each), met
        assert {"lane 1", "lane 2", "lane 3"} <= set(dialled)
        began = monotonic()
        for executor in [
            row[0] for row in admin.execute("SELECT executor_name FROM oneroof.governance_lease").fetchall()
        ]:
            if executor.startswith(handoff_intake.NAME):
                lease.claim(admin, executor, instance="another")
        run(host, JUDGES)
        assert monotonic() - began < 60


def test_a_sweep_is_not_kept_from_its_work_by_those_who_judge_what_it_leaves() -> None:
    """They have a turn a second while it is under way, however many batches that is, and come to their end after it."""
    with server() as host, connect(host.dsn()) as admin:
        admin.execute(
            "UPDATE oneroof.governance_worker_policy SET batch_size = 10 WHERE worker_name = %s", [backfill_sweep.NAME]
        )
        began = monotonic()
        told = run(host, [backfill_sweep.NAME, *JUDGES])
        seconds = monotonic() - began
        (dirty,) = admin.execute("SELECT count(*) FROM oneroof.governance_candidate_state WHERE dirty").fetchone() or (
            None,
        )
    names = [each.executor for each in told]
    swept = [n for n, each in enumerate(told) if each.executor.startswith(backfill_sweep.NAME) and each.step]
    judged = sum(name == f"{input_gate.NAME}:birth_registry" for name in names[: swept[-1]])
    assert len(swept) > 50
    # A turn of a lane may be several, if there is work.
    assert judged <= 4 * (seconds + 2), (judged, len(swept), seconds)
    assert dirty == 0


def test_a_run_does_not_end_while_one_is_at_work_that_had_waited_for_a_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was idle, since another held its lease; got it the next moment; and is at work when the others are idle."""
    claim, step, refused = lease.claim, BackfillSweep.run_once, list[str]()

    def late(connection: Connection, executor: str, **words: Any) -> Lease:
        if executor.startswith(backfill_sweep.NAME) and not refused:
            refused.append(executor)
            raise HeldElsewhere("held by another")
        return claim(connection, executor, **words)

    def slowly(sweep: BackfillSweep) -> Step:
        # Longer than it takes to see that nobody has anything to do.
        threading.Event().wait(0.1 if sweep.run.batch_count == 0 else 0)
        return step(sweep)

    monkeypatch.setattr(lease, "claim", late)
    monkeypatch.setattr(BackfillSweep, "run_once", slowly)
    # It tries again before anybody has looked.
    monkeypatch.setattr(Lane, "_rest", lambda self: setattr(self.executors[0], "not_before", 0.0))
    with server() as host, connect(host.dsn()) as admin:
        rows = admin.execute("SELECT count(*) FROM birth_registry").fetchone()
        told = run(host, [backfill_sweep.NAME])
    assert refused
    assert rows == (sum(each.step.seen for each in told if each.step),)


def test_a_short_run_watches_once_and_when_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has opened or closed shows then; to look before would cost its first batch time, and show nothing."""
    look, looks = watch.watch, list[int]()

    with server() as host:
        told: list[Report] = []

        def counted(connection: Connection) -> Seen:
            looks.append(len(told))
            return look(connection)

        monkeypatch.setattr(watch, "watch", counted)
        run_telling(host, [backfill_sweep.NAME], told)
    assert looks == [len(told)]
