"""`gov_periodic_full_audit`: is what is accounted what is there (doc 31 §7 and §9, doc 39 §39.5)?

A source against its candidates, both ways, the candidates against what they are judged by, and the books against a
recount. Sums over sets of facts tell what has drifted, and sums over buckets of hashes where in them; only there are
keys compared. What is wrong is put right as a dirty mark, and comes round through the gate and the scan like any
change; what is gone becomes a tombstone, unless too much of a group went at once. What the source was found to have is
kept as a snapshot (doc 31 §5). Every step is a short transaction, or a part of one, and where the audit stands is in
`window_at`, from where it goes on after a crash (docs/explanation/full_audit/comparison.md).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from oneroof.candidates.apply_batch import Statements
from oneroof.database.connection import Connection
from oneroof.database.parallel_reader import ParallelReader
from oneroof.database.statements import queries
from oneroof.errors import OneroofError
from oneroof.failures.batch_size import Width
from oneroof.fence.fenced_batch import Batch, run_fenced
from oneroof.fence.lease import Lease
from oneroof.fence.step import Run, Step, isolating
from oneroof.full_audit.comparison import Done
from oneroof.full_audit.steps import BRIEF, STEPS, AuditSteps
from oneroof.signals import emission
from oneroof.sources.source import Source
from oneroof.tail.row_queries import FARTHEST, SLOTS

NAME = "gov_periodic_full_audit"
COMPLETED = "governance.coverage.audit_completed"
BATCH = 5_000
INTERVAL = 3_600.0
# Where no audit is due the next look can wait.
RESTING = Step(seen=0, written=0, idle=True, rest=5.0)
# Pages to add up at once.
PAGES = 49_152
# A step that is to look for no more than so many keys does without buckets.
FEW = 20_000
# More than this share of a group, and at least so many, may not vanish at once.
VANISH_SHARE = 0.1
VANISH_LEAST = 100
COUNTS = {
    "missing": "repaired_missing",
    "drifted": "repaired_drift",
    "reborn": "reborn",
    "duplicates": "duplicates",
    "noted": "notes_removed",
    "failed": "failed",
    "ended": "items_ended",
    "succeeded": "succeeded",
    "vanished": "vanished",
    "retired": "retired",
    "held": "held_groups",
    "judgements": "repaired_judgements",
    "verdicts": "repaired_verdicts",
    "groups": "repaired_groups",
    "expired": "expired",
}


@dataclass(slots=True)
class FullAudit:
    """The audit of one source. `interval` is how long one is good for; `at_once` means that the first does not wait."""

    connection: Connection
    source: Source
    lease: Lease
    batch: int = BATCH
    interval: float = INTERVAL
    at_once: bool = False
    few: int = FEW
    vanish_share: float = VANISH_SHARE
    vanish_least: int = VANISH_LEAST
    # A second connection, which reads along while an audit is under way.
    second: ParallelReader | None = None
    run: Run = field(default_factory=Run, init=False)
    audits: int = field(default=0, init=False)
    _statements: Statements = field(default_factory=Statements, init=False)
    _pages: Width = field(default_factory=lambda: Width(most=PAGES * SLOTS), init=False)

    @property
    def name(self) -> str:
        return self.source.source_name

    def run_once(self) -> Step:
        """One step of an audit that is under way or due."""
        return isolating(self._pages, lambda: self._fenced(None), self._fenced)

    def _fenced(self, poison: OneroofError | None) -> Step:
        step, self.run, ended = run_fenced(
            self.connection,
            self.lease,
            lambda batch: self._next(batch, poison),
            worker=NAME,
            source=self.name,
            doing=f"auditing {self.name}",
        )
        self.audits += ended
        if self.second and (ended or step.idle):
            self.second.rest()
        return step

    def _next(self, batch: Batch, poison: OneroofError | None) -> tuple[Step, Run, int]:
        here = batch.cursor
        given = {"source": self.name, "identity": here.identity}
        row = self.connection.execute(queries("full_audit/steps")["frontier"], given).fetchone()
        if row is None or row[0] is None or here.next_xid - row[0] > FARTHEST:
            return RESTING, self.run, 0
        steps, at = self._steps(batch, frontier=row[0]), here.window_at
        if at is None:
            if here.rested < self.interval and not (self.at_once and self.audits == 0):
                return RESTING, self.run, 0
            steps.execute("forget", steps.given())
            steps.execute("uncount", steps.given())
            return self._advance(batch, {"step": STEPS[0], "counts": {}}, {})
        steps.execute("by_hashing", {})
        done = steps.put_aside(at, poison) if poison else steps.run(at)
        following, known = (None, {}) if done.at is not None else steps.following(at)
        while following in BRIEF and not sum(done.counts.values()):
            at = {"step": following, "counts": at["counts"], **known}
            done = steps.run(at)
            following, known = (None, {}) if done.at is not None else steps.following(at)
        counts = dict(Counter(at["counts"]) + Counter(done.counts))
        if done.at is not None:
            return self._advance(batch, {**at, **done.at, "counts": counts}, done.counts)
        if following:
            return self._advance(batch, {"step": following, "counts": counts, **known}, done.counts)
        return self._end(batch, steps, {**at, "counts": counts}, done)

    def _steps(self, batch: Batch, *, frontier: int) -> AuditSteps:
        return AuditSteps(
            batch,
            self.source,
            frontier,
            size=self.batch,
            few=self.few,
            vanish_share=self.vanish_share,
            vanish_least=self.vanish_least,
            pages=self._pages,
            statements=self._statements,
            second=self.second,
        )

    def _end(self, batch: Batch, steps: AuditSteps, at: dict[str, Any], done: Done) -> tuple[Step, Run, int]:
        """What was found, as a snapshot, and that it is over."""
        step_done, run, _ = self._advance(batch, at, done.counts)
        batch.flush()
        snapshot = steps.count("snapshot", frontier=steps.frontier)
        steps.execute("closed", {"worker": NAME, "source": self.name, "snapshot": snapshot})
        steps.execute("signals", {})
        mended = sum(count for what, count in at["counts"].items() if what != "held")
        told = {"number": int(batch.cursor.metadata.get("batches") or 0), "seen": run.rows_seen, "repaired": mended}
        emission.emit(self.connection, [emission.completed(COMPLETED, worker=NAME, source=self.name, **told)])
        return step_done, run, 1

    def _advance(self, batch: Batch, at: dict[str, Any], counts: dict[str, int]) -> tuple[Step, Run, int]:
        # What was only seen is not written.
        written = sum(counts.values()) - counts.get("held", 0)
        run = replace(
            self.run,
            batch_count=self.run.batch_count + 1,
            rows_seen=self.run.rows_seen + written,
            dirty_marked=self.run.dirty_marked + written,
        )
        told = {name: at["counts"].get(key, 0) for key, name in COUNTS.items()}
        batch.advance(
            at=at,
            seen=written,
            written=written,
            summary={**run.summary(), **told, "step": at["step"]},
        )
        return Step(seen=written, written=written, idle=False), run, 0
