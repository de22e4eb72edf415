"""The second half of `gov_handoff_intake`: the objects that it handed off are told of (doc 32 §5, step 5).

What the intake marks it also writes down as untold, in one transaction. Telling costs more than marking and nobody
waits for it, so it has a lane of its own: the newest rows never queue behind signals.
"""

from __future__ import annotations

from dataclasses import dataclass

from oneroof.database.connection import Connection
from oneroof.fence.fenced_batch import run_fenced
from oneroof.fence.lease import Lease
from oneroof.fence.step import NOTHING, Step
from oneroof.intake import change_marks
from oneroof.sources.source import Source
from oneroof.workers import handoff_intake

PART = "signals"
BATCH = 1_000


@dataclass(slots=True)
class HandoffTell:
    """The signals of one inventory."""

    connection: Connection
    source: Source
    lease: Lease
    batch: int = BATCH

    @property
    def name(self) -> str:
        return self.source.source_name

    def run_once(self) -> Step:
        """Some of what is untold, in the order in which it was handed off."""
        told = run_fenced(
            self.connection,
            self.lease,
            lambda batch: change_marks.tell_objects(batch.connection, self.name, most=self.batch),
            worker=handoff_intake.NAME,
            source=self.name,
            doing=f"telling of {self.name}",
        )
        return Step(seen=0, written=told, idle=False) if told else NOTHING
