"""A quiet process: whoever lives on what the intake brings looks rarely, and at once when it has brought something."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep

import pytest

from bed import connect, eventually
from by_hand import LEFT, Server, add_births, number, server
from oneroof import lane
from oneroof.connection import Connection
from oneroof.errors import OneroofError
from oneroof.lane import FOLLOWING
from oneroof.report import Report
from oneroof.step import NOTHING, Step
from oneroof.supervisor import NAMES, Supervisor
from oneroof.workers import candidate_scan, handoff_intake, input_gate
from oneroof.workers.candidate_scan import CandidateScan

INTAKE = f"{handoff_intake.NAME}:birth_registry"
FOLLOWERS = (f"{input_gate.NAME}:birth_registry", f"{candidate_scan.NAME}:birth_registry", f"{INTAKE}/signals")
JUDGED = "SELECT count(*) FROM oneroof.governance_candidate_state WHERE NOT dirty AND candidate_key LIKE 'quiet:%'"
WAITING = JUDGED.replace("NOT dirty", "dirty AND input_quality_state <> 'pending'")


@contextmanager
def looks(host: Server, workers: list[str]) -> Iterator[Callable[[float], Counter[str]]]:
    """A supervisor that runs meanwhile, and who of it has looked within so many seconds."""
    seen: Counter[str] = Counter()
    stop = threading.Event()
    supervisor = Supervisor(
        dial=lambda: connect(host.dsn()),
        workers=workers,
        instance="test",
        mode="for ever",
        stop=stop,
        tell=lambda report: note(report),
    )

    def note(report: Report) -> None:
        if report.step is not None:
            seen[report.executor] += 1

    def within(seconds: float) -> Counter[str]:
        before = seen.copy()
        sleep(seconds)
        return seen - before

    thread = threading.Thread(target=supervisor.run)
    thread.start()
    try:
        yield within
    finally:
        stop.set()
        thread.join()


@contextmanager
def quiet_process() -> Iterator[tuple[Connection, Callable[[float], Counter[str]]]]:
    """A process of all workers that has swept, and in which nothing is due by itself."""
    with server() as host, connect(host.dsn()) as admin:
        admin.execute("UPDATE oneroof.governance_worker_policy SET sweep_interval = '1 hour'")
        with looks(host, list(NAMES)) as within:
            eventually(lambda: number(admin, LEFT) == 0, what="the sweep", seconds=60)
            eventually(lambda: are_rare(within(FOLLOWING)), what="a quiet process", seconds=60)
            yield admin, within


def are_rare(looked: Counter[str]) -> bool:
    return all(looked[each] <= 2 for each in FOLLOWERS)


def test_followers_look_rarely_until_the_intake_has_brought_something(monkeypatch: pytest.MonkeyPatch) -> None:
    with quiet_process() as (admin, within):
        quiet = within(FOLLOWING)
        assert are_rare(quiet)
        assert quiet[INTAKE] > FOLLOWING / 2
        # By themselves they would not look again.
        monkeypatch.setattr(lane, "FOLLOWING", 3600.0)
        # No older than the fast lane looks back, wherever it is.
        add_births(admin, "quiet", 3)
        eventually(lambda: number(admin, JUDGED) == 3, what="verdicts")


def test_a_follower_that_failed_looks_again_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = threading.Event()
    look = CandidateScan.run_once

    def fail_once(scan: CandidateScan) -> Step:
        if scan.name != "birth_registry" or failed.is_set():
            return look(scan)
        if not number(scan.connection, WAITING):
            return NOTHING
        failed.set()
        raise OneroofError("a statement took too long")

    with quiet_process() as (admin, _):
        monkeypatch.setattr(lane, "FOLLOWING", 3600.0)
        monkeypatch.setattr(CandidateScan, "run_once", fail_once)
        add_births(admin, "quiet", 1)
        eventually(lambda: number(admin, JUDGED) == 1, what="a verdict")
    assert failed.is_set()


def test_without_an_intake_of_its_own_a_process_looks_every_second() -> None:
    with server() as host, looks(host, [input_gate.NAME]) as within:
        eventually(lambda: within(FOLLOWING)[FOLLOWERS[0]], what="the gate at work", seconds=60)
        assert within(FOLLOWING)[FOLLOWERS[0]] > FOLLOWING / 2
