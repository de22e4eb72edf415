"""The supervisor: runs workers on their sources in turn, each behind a lease of its own (doc 39 §39.6).

Busy executors are called again at once, quiet ones ever more rarely, down to once a second. It stops between batches,
and gives the leases back. An executor whose lease is held elsewhere is left to the holder and tried again later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from oneroof import gates, lease
from oneroof import source as sources
from oneroof.db import Connection
from oneroof.errors import HeldElsewhere, OneroofError, Refused, Usage
from oneroof.source import INVENTORY, Source
from oneroof.worker import Step
from oneroof.workers import backfill_sweep, handoff_intake
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.handoff_intake import HandoffIntake

GATE = "governance.workers_enabled"
NAMES = (backfill_sweep.NAME, handoff_intake.NAME)
BUSY, QUIET = 0.01, 1.0
Mode = Literal["for ever", "once", "until idle"]


@dataclass(frozen=True, slots=True)
class Progress:
    """What an executor has just done."""

    worker: str
    source: str
    step: Step


@dataclass(slots=True)
class Executor:
    """One worker on one source, with its lease once it has one."""

    worker: str
    source: Source
    running: BackfillSweep | HandoffIntake | None = None
    held_by: str | None = None
    done: bool = False


@dataclass(slots=True)
class Supervisor:
    """A run of some workers by one instance."""

    connection: Connection
    workers: list[str]
    instance: str
    mode: Mode
    stop: threading.Event
    tell: Callable[[Progress], None]
    _executors: list[Executor] = field(default_factory=list, init=False)

    def run(self) -> int:
        """Run until told to stop, or until there is nothing to do; rows seen."""
        self._executors = [
            Executor(worker=worker, source=source)
            for worker in self.workers
            for source in sources.listing(self.connection)
            if worker != backfill_sweep.NAME or source.source_kind == INVENTORY
        ]
        try:
            return self._rounds()
        finally:
            for executor in self._executors:
                # A connection that was cut or interrupted cannot give anything back; then the lease runs out.
                if executor.running is not None:
                    with suppress(OneroofError):
                        lease.release(self.connection, executor.running.lease)

    def _rounds(self) -> int:
        seen, pause = 0, BUSY
        while not self.stop.is_set():
            if not self._open():
                self.stop.wait(QUIET)
                continue
            steps = [step for executor in self._executors if not self.stop.is_set() for step in self._call(executor)]
            seen += sum(step.seen for step in steps)
            if self.mode == "once" or (
                self.mode == "until idle" and all(executor.done for executor in self._executors)
            ):
                break
            pause = BUSY if any(not step.idle for step in steps) else min(QUIET, pause * 2)
            self.stop.wait(0 if any(step.seen for step in steps) else pause)
        held = [executor for executor in self._executors if executor.running is None and executor.held_by]
        if self.mode != "for ever" and held and len(held) == len(self._executors):
            raise HeldElsewhere(held[0].held_by or "held elsewhere", hint="another instance does the work")
        return seen

    def _open(self) -> bool:
        try:
            gates.require_open(self.connection, GATE)
        except Refused:
            if self.mode != "for ever":
                raise
            return False
        return True

    def _call(self, executor: Executor) -> list[Step]:
        """One step of an executor, if it has or gets its lease."""
        try:
            running = executor.running or self._begin(executor)
            step = running.run_once()
        except HeldElsewhere as held:
            executor.running, executor.held_by, executor.done = None, str(held), True
            return []
        if isinstance(running, HandoffIntake) and running.windows_closed:
            running.sweep_interval = handoff_intake.SWEEP_INTERVAL
        executor.done = step.idle
        self.tell(Progress(executor.worker, executor.source.source_name, step))
        return [step]

    def _begin(self, executor: Executor) -> BackfillSweep | HandoffIntake:
        name = lease.executor_name(executor.worker, executor.source.source_name)
        held = lease.claim(self.connection, name, instance=self.instance)
        if executor.worker == backfill_sweep.NAME:
            executor.running = BackfillSweep(self.connection, executor.source, held)
        else:
            # Idle is only who has closed a whole window in this run; after it the usual interval is good enough.
            at_once = 0.0 if self.mode == "until idle" else handoff_intake.SWEEP_INTERVAL
            executor.running = HandoffIntake(self.connection, executor.source, held, sweep_interval=at_once)
        return executor.running


def worker_names(words: list[str]) -> list[str]:
    """The workers meant, with or without `gov_`; all, where none is named."""
    chosen = []
    for word in words:
        name = word if word.startswith("gov_") else f"gov_{word}"
        if name not in NAMES:
            known = ", ".join(each.removeprefix("gov_") for each in NAMES)
            raise Usage(f"there is no worker {word!r}", hint=f"workers: {known}")
        chosen.append(name)
    return chosen or list(NAMES)
