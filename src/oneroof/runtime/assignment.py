"""An assignment: one worker on one source, with its lease, and the time when it is due (doc 39 §39.6).

A step that found work makes it due now. A step that found none leaves it quiet: then a wake-up, a look at many
assignments together, or its own latest time makes it due again, but never before `earliest`.
"""

from __future__ import annotations

from dataclasses import dataclass

from oneroof.fence import lease
from oneroof.fence.lease import Lease
from oneroof.sources.source import Source
from oneroof.workers import handoff_intake
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.candidate_scan import CandidateScan
from oneroof.workers.handoff_intake import HandoffIntake
from oneroof.workers.handoff_signals import HandoffTell
from oneroof.workers.input_gate import InputGate
from oneroof.workers.periodic_full_audit import FullAudit

Worker = BackfillSweep | HandoffIntake | HandoffTell | InputGate | CandidateScan | FullAudit
# The first pause after a step without work, and the longest, in seconds; it doubles. Without the first, a source whose
# rows come one by one keeps a processor busy; without the longest, a row could wait for minutes.
FIRST_PAUSE, LONGEST_PAUSE = 0.002, 1.0
# Seconds for which a source that had rows is asked by itself. The server counts what a session wrote up to ten seconds
# late, so without it a row that follows another one could wait for so long.
RECENT = 12.0
# The longest, in seconds, that a look is ignored which names an assignment that then finds nothing to do: without it, a
# candidate that waits for a decision costs a transaction a second.
VAIN = 10.0
NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Duty:
    """One worker on one source, or on a range of it; or a part of its work that has a thread of its own."""

    worker: str
    source: Source
    scope: str
    part: str | None = None

    @property
    def is_range(self) -> bool:
        return self.scope != self.source.source_name

    @property
    def is_own_channel(self) -> bool:
        """Whether it is the intake of a table into which oneroof itself writes: the server counts such writes late."""
        return self.worker == handoff_intake.NAME and self.part is None and self.source.own_column is not None

    @property
    def executor(self) -> str:
        name = lease.executor_name(self.worker, self.scope)
        return name if self.part is None else f"{name}/{self.part}"


@dataclass(slots=True, eq=False)
class Assignment:
    """A duty, with its lease and its worker once it has them, and its times on the clock of the process."""

    duty: Duty
    lease: Lease | None = None
    running: Worker | None = None
    batch: int = 0
    due: float = 0.0
    earliest: float = 0.0
    # Nothing is known to wait for it: a look may say so again, or name it.
    is_quiet: bool = False
    pause: float = 0.0
    worked: float = float("-inf")
    ticked: float = 0.0
    # Whether it was woken since its last step began.
    is_woken: bool = False
    # Whether a look has named it, and how often it then found nothing, one time after the other.
    was_named: bool = False
    in_vain: int = 0
    # How many writes the server had counted in its table; -1 where nothing is counted.
    counted: int | None = None
    # The writes of the run when it was last found to be idle; none while it has work.
    idle_since: int | None = None
    is_in_step: bool = False
    has_run: bool = False
    # Who held its lease when it was last claimed.
    held_by: str | None = None
    failures: int = 0
    in_conflict: bool = False
    trouble: str | None = None

    def is_idle(self, writes: int) -> bool:
        """Whether it was found idle since the last write of the run; one held elsewhere, or that fails, is."""
        if self.is_in_step:
            return False
        return self.held_by is not None or self.failures > 0 or self.idle_since == writes

    def wake(self, now: float) -> None:
        """There may be work: due as soon as it may run again."""
        self.is_woken = True
        self.is_quiet, self.in_vain, self.was_named = False, 0, False
        self.due = min(self.due, max(now, self.earliest))

    def name(self, now: float) -> None:
        """A look has found that work may wait."""
        self.is_quiet, self.was_named = False, True
        self.due = min(self.due, max(now, self.earliest))

    def worked_at(self, now: float, *, rest: float, free_at: float, has_seen: bool) -> None:
        """A step did something: due now, unless it asked for a rest, or rows have to be paid for."""
        self.is_quiet, self.was_named, self.in_vain, self.pause = False, False, 0, 0.0
        self.earliest = now + rest
        self.due = max(self.earliest, free_at)
        if has_seen:
            self.worked = now

    def rested_at(self, now: float, *, rest: float, latest: float, asks: bool, patient: bool) -> None:
        """A step found nothing: not before `rest` is over, and in any case after `latest` seconds; one that `asks` by
        itself, while it had rows a moment ago, again after a pause that doubles.
        """
        had_rows = asks and now - self.worked < RECENT
        # The server counts rows late: a look that names a source whose rows were applied meanwhile is not in vain.
        self.in_vain = self.in_vain + 1 if self.was_named and not had_rows else 0
        self.pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * self.pause))
        if self.in_vain and patient:
            rest = max(rest, min(VAIN, 0.5 * 2**self.in_vain))
        self.earliest = now + rest
        self.due = now + latest
        if had_rows:
            self.due = min(self.due, now + self.pause)
        self.due = max(self.due, self.earliest)
        self.is_quiet, self.was_named = True, False
        # What woke it during the step may have come after the step had looked.
        if self.is_woken:
            self.wake(now)

    def let_go(self, *, held_by: str | None) -> None:
        """Its lease was given back; whatever takes it up again begins anew."""
        self.lease, self.running, self.held_by = None, None, held_by
        self.is_quiet, self.due, self.counted, self.idle_since = False, 0.0, None, None

    def failed_at(self, now: float, *, wait: float) -> None:
        """A step failed: again after a wait that doubles, and not before."""
        self.failures += 1
        self.earliest = self.due = now + wait
        self.is_quiet, self.was_named = False, False
