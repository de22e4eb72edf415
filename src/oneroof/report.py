"""A report: something an executor did or met, for whoever watches a run."""

from __future__ import annotations

from dataclasses import dataclass

from oneroof.step import Step


@dataclass(frozen=True, slots=True)
class Report:
    """What one turn did, or a sentence."""

    executor: str
    step: Step | None = None
    what: str | None = None
