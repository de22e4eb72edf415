"""Progress of a run: what an executor did or met, for the command or test that started the run."""

from __future__ import annotations

from dataclasses import dataclass

from oneroof.fence.step import Step


@dataclass(frozen=True, slots=True)
class Report:
    """What one step did, or a sentence."""

    executor: str
    step: Step | None = None
    what: str | None = None
