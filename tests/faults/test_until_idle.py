"""A run until idle: when it ends, that it ends with many sources, and that a long step costs nobody a lease."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any

import pytest

from bed import connect
from by_hand import Server, server
from many import add_sources
from oneroof.database.connection import Connection
from oneroof.fence import lease
from oneroof.fence.lease import Lease
from oneroof.fence.step import MOVED, Step
from oneroof.runtime import watch
from oneroof.runtime.progress import Report
from oneroof.runtime.supervisor import NAMES, Supervisor
from oneroof.runtime.watch import Seen
from oneroof.workers import backfill_sweep, handoff_intake
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.handoff_intake import HandoffIntake

TTL = 2.0
# How long ago the lease of an intake ticked that has waited longest, in seconds.
OLDEST_TICK = """SELECT extract(epoch FROM coalesce(max(clock_timestamp() - last_tick_at), '0'))::float8
FROM queue_heartbeat WHERE executor_name LIKE 'gov_handoff_intake:%' AND lease_owner <> ''"""


def run(host: Server, workers: list[str], told: list[Report] | None = None) -> list[Report]:
    """What the executors did, in order, added to what was told before."""
    reports = [] if told is None else told
    Supervisor(
        dial=lambda: connect(host.dsn()),
        workers=workers,
        instance="test",
        mode="until idle",
        stop=threading.Event(),
        tell=reports.append,
    ).run()
    return reports


def oldest_tick(admin: Connection) -> float:
    row = admin.execute(OLDEST_TICK).fetchone()
    assert row is not None
    return float(row[0])


def test_many_steps_of_one_source_do_not_cost_others_their_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """One intake has work for twice as long as a lease is good, when all others have theirs."""
    step_of, steps, until, ages = HandoffIntake.run_once, 0, float("inf"), list[float]()

    with server() as host, connect(host.dsn()) as admin:
        admin.execute("UPDATE oneroof.governance_worker_policy SET lease_ttl = make_interval(secs => %s)", [TTL])

        def busy(intake: HandoffIntake) -> Step:
            nonlocal steps, until
            step = step_of(intake)
            if intake.name != "registry_changelog":
                return step
            steps += 1
            # Before its second step all others had one.
            if steps > 1:
                until = min(until, monotonic() + 2 * TTL)
            if monotonic() >= until:
                return step
            ages.append(oldest_tick(admin))
            return MOVED

        monkeypatch.setattr(HandoffIntake, "run_once", busy)
        run(host, [handoff_intake.NAME])
    assert len(ages) > 10
    assert max(ages) < TTL


def test_the_followers_of_a_sweep_do_not_keep_it_from_its_work() -> None:
    """However many batches that is, they gather what it brings, and come to their end after it."""
    with server() as host, connect(host.dsn()) as admin:
        admin.execute(
            "UPDATE oneroof.governance_worker_policy SET batch_size = 10 WHERE worker_name = %s", [backfill_sweep.NAME]
        )
        began = monotonic()
        told = run(host, list(NAMES))
        seconds = monotonic() - began
        (dirty,) = admin.execute("SELECT count(*) FROM oneroof.governance_candidate_state WHERE dirty").fetchone() or (
            None,
        )
    names = [each.executor for each in told]
    swept = [n for n, each in enumerate(told) if each.executor.startswith(backfill_sweep.NAME) and each.step]
    judged = sum(name == "gov_candidate_scan:birth_registry" for name in names[: swept[-1]])
    assert len(swept) > 50
    # A step with work is followed by the next at once, and one without it gathers.
    assert judged <= 12 * (seconds + 2), (judged, len(swept), seconds)
    assert dirty == 0


def test_a_run_does_not_end_while_one_is_at_work_that_had_waited_for_a_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was idle, since another held its lease; got it when that was free; and is at work when the others are idle."""
    claim, step_of, refused = lease.claim_many, HandoffIntake.run_once, list[str]()

    def late(connection: Connection, executors: list[str], **words: Any) -> tuple[dict[str, Lease], dict[str, str]]:
        if not refused and any(each.startswith(backfill_sweep.NAME) for each in executors):
            refused.extend(executors)
            # As free as it was.
            connection.execute(
                "INSERT INTO queue_heartbeat (executor_name, executor_kind, ticks_total, last_tick_at, metadata)"
                " SELECT e, 'external_worker', 0, now(), '{}' FROM unnest(%s::text[]) AS e",
                [executors],
            )
            return {}, {each: f"{each} is held by another" for each in executors}
        return claim(connection, executors, **words)

    def slowly(intake: HandoffIntake) -> Step:
        step = step_of(intake)
        # Until the lease was had, and for longer than it takes to see that nothing else is to do.
        threading.Event().wait(0.3)
        return step

    monkeypatch.setattr(lease, "claim_many", late)
    monkeypatch.setattr(HandoffIntake, "run_once", slowly)
    with server() as host, connect(host.dsn()) as admin:
        rows = admin.execute("SELECT count(*) FROM birth_registry").fetchone()
        told = run(host, [backfill_sweep.NAME, handoff_intake.NAME])
    swept = [each for each in told if each.executor.startswith(backfill_sweep.NAME) and each.step]
    assert refused
    assert rows == (sum(each.step.seen for each in swept if each.step),)


def test_a_run_does_not_end_in_the_middle_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    step_of = BackfillSweep.run_once

    def slowly(sweep: BackfillSweep) -> Step:
        # Longer than it takes to see that no other assignment has anything to do.
        threading.Event().wait(0.2 if sweep.run.batch_count == 0 else 0)
        return step_of(sweep)

    monkeypatch.setattr(BackfillSweep, "run_once", slowly)
    with server() as host, connect(host.dsn()) as admin:
        rows = admin.execute("SELECT count(*) FROM birth_registry").fetchone()
        told = run(host, [backfill_sweep.NAME])
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
        run(host, [backfill_sweep.NAME], told)
    assert looks == [len(told)]


@pytest.mark.parametrize("many", [60, pytest.param(500, marks=pytest.mark.soak)])
def test_a_run_ends_with_many_sources(many: int) -> None:
    """Every row is accounted and judged, and a second run finds nothing to do."""
    with server() as host, connect(host.dsn()) as admin:
        add_sources(admin, many=many, rows=40)
        run(host, list(NAMES))
        accounted = "SELECT count(*), count(*) FILTER (WHERE dirty) FROM oneroof.governance_candidate_state"
        assert admin.execute(f"{accounted} WHERE source_name LIKE 'many_%'").fetchone() == (40 * many, 0)
        told = run(host, list(NAMES))
    assert sum(each.step.seen for each in told if each.step and "many_" in each.executor) == 0
