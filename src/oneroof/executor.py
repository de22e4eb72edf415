"""An executor: a duty with its worker, and when it has its turn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from oneroof.duty import Duty
from oneroof.workers import candidate_scan, input_gate
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.candidate_scan import CandidateScan
from oneroof.workers.full_audit import FullAudit
from oneroof.workers.handoff_intake import HandoffIntake
from oneroof.workers.handoff_tell import HandoffTell
from oneroof.workers.input_gate import InputGate

# For so long news are news.
BRIEF = 0.1
Worker = BackfillSweep | HandoffIntake | HandoffTell | InputGate | CandidateScan | FullAudit
# Those who live on what the intake brings.
FOLLOWERS = HandoffTell | InputGate | CandidateScan


@dataclass(slots=True)
class Executor:
    """A duty, with its lease and its worker once it has them."""

    duty: Duty
    running: Worker | None = None
    batch: int = 0
    held_by: str | None = None
    held_since: float = 0.0
    in_conflict: bool = False
    trouble: str | None = None
    failures: int = 0
    not_before: float = 0.0
    pause: float = 0.0
    worked: float = field(default_factory=time.monotonic)
    ticked: float = 0.0
    looked: float = 0.0
    # The activity of all lanes when this one was last found to have nothing to do; None if it had.
    idle_at: int | None = None
    # The same, if it looked for itself: one that failed, or may not work, is idle and knows nothing.
    still_at: int | None = None

    @property
    def follows(self) -> bool:
        """Whether it lives on what the intake brings, and others like it."""
        return self.duty.worker in (input_gate.NAME, candidate_scan.NAME)

    def is_hot(self, now: float) -> bool:
        """Whether there was news a moment ago."""
        return now - self.worked < BRIEF


def in_turn(executors: list[Executor]) -> Iterator[Executor]:
    """Each once, and whoever had news a moment ago again after every other one: it does not wait for them all."""
    for executor in list(executors):
        yield executor
        latest = max(executors, key=lambda each: each.worked)
        if latest is not executor and latest.is_hot(time.monotonic()):
            yield latest
