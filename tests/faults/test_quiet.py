"""A quiet process: an assignment has no steps while nothing waits for it, and has one soon when something does."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep

import pytest

from bed import connect, eventually
from by_hand import LEFT, Server, add_births, number, server
from oneroof.database.connection import Connection
from oneroof.errors import OneroofError
from oneroof.fence.step import Step
from oneroof.runtime.assignment import RECENT
from oneroof.runtime.progress import Report
from oneroof.runtime.supervisor import NAMES, Supervisor
from oneroof.workers import backfill_sweep, candidate_scan, handoff_intake, input_gate
from oneroof.workers.candidate_scan import CandidateScan

JUDGED = "SELECT count(*) FROM oneroof.governance_candidate_state WHERE NOT dirty AND candidate_key LIKE 'quiet:%'"


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
            eventually(lambda: not within(5.0), what="a quiet process", seconds=90)
            yield admin, within


def test_a_quiet_process_has_no_steps_until_something_is_written() -> None:
    """Neither the intake, nor those that live on what it brings; then each of them has one soon."""
    with quiet_process() as (admin, within):
        assert not within(3.0)
        add_births(admin, "quiet", 3)
        eventually(lambda: number(admin, JUDGED) == 3, what="verdicts")


def test_what_another_process_brings_is_found_by_a_look() -> None:
    """A process that only judges is told by nobody; it looks at what waits."""
    judges = [input_gate.NAME, candidate_scan.NAME]
    with server() as host, connect(host.dsn()) as admin, looks(host, judges) as within:
        eventually(lambda: not within(3.0), what="a quiet process", seconds=60)
        with looks(host, [backfill_sweep.NAME, handoff_intake.NAME]):
            eventually(lambda: number(admin, LEFT) == 0, what="the sweep", seconds=60)
            add_births(admin, "quiet", 3)
            eventually(lambda: number(admin, JUDGED) == 3, what="verdicts")


def test_where_the_server_counts_no_writes_the_intake_asks_by_itself() -> None:
    with server() as host, connect(host.dsn()) as admin:
        admin.execute("ALTER DATABASE host SET track_counts = off")
        admin.execute("UPDATE oneroof.governance_worker_policy SET sweep_interval = '2 seconds'")
        with looks(host, list(NAMES)) as within:
            eventually(lambda: number(admin, LEFT) == 0, what="the sweep", seconds=60)
            within(RECENT + 3)
            add_births(admin, "quiet", 3)
            eventually(lambda: number(admin, JUDGED) == 3, what="verdicts", seconds=15)


def test_a_follower_that_failed_looks_again_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = threading.Event()
    step_of = CandidateScan.run_once

    def fail_once(scan: CandidateScan) -> Step:
        if scan.name != "birth_registry" or failed.is_set():
            return step_of(scan)
        failed.set()
        raise OneroofError("a statement took too long")

    with quiet_process() as (admin, _):
        monkeypatch.setattr(CandidateScan, "run_once", fail_once)
        add_births(admin, "quiet", 1)
        eventually(lambda: number(admin, JUDGED) == 1 and failed.is_set(), what="a verdict")
