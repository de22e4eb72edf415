"""`gov_input_gate`: is what is known of an object fit to be judged (doc 31 §5, doc 39 §39.5)?

Candidates wait with the state `pending`. Facts that were never met are learned from the rows, judged once for all who
have them, and each candidate is told its state: one of the ten, or it goes on waiting. It also says that a row is gone
that a candidate was made from; what follows from that is the audit's to decide.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from oneroof.database.connection import Connection
from oneroof.fence.fenced_batch import Batch, run_fenced
from oneroof.fence.lease import Lease
from oneroof.fence.step import NOTHING, Run, Step
from oneroof.judgement import fact_sets, judgements
from oneroof.sources.source import Source

NAME = "gov_input_gate"
BATCH = 5_000


@dataclass(slots=True)
class InputGate:
    """The gate in front of one source's candidates."""

    connection: Connection
    source: Source
    lease: Lease
    batch: int = BATCH
    run: Run = field(default_factory=Run, init=False)

    @property
    def name(self) -> str:
        return self.source.source_name

    def run_once(self) -> Step:
        """Learn, judge and tell, some at a time."""
        doing = f"looking at the input of {self.name}"
        step, self.run = run_fenced(
            self.connection, self.lease, self._batch, worker=NAME, source=self.name, doing=doing
        )
        return step

    def _batch(self, batch: Batch) -> tuple[Step, Run]:
        if not judgements.is_waiting(self.connection, self.source):
            return NOTHING, self.run
        learned = fact_sets.learn(self.connection, self.source, most=self.batch)
        judged = judgements.judge(self.connection, self.source)
        marked = judgements.call(self.connection, "mark", self.source, most=self.batch)
        if not (learned or judged or marked):
            return NOTHING, self.run
        run = replace(self.run, batch_count=self.run.batch_count + 1, rows_seen=self.run.rows_seen + marked)
        batch.advance(at=None, seen=marked, written=marked, summary=run.summary())
        return Step(seen=marked, written=marked, idle=False), run
