"""What one call of a worker's `run_once` did, the account of a run, and how a batch that fails is halved.

`run_once` of a worker reads as its five words: lease, read, apply, advance, tick (doc 39 §39.6). A batch that holds
poison, or takes too long, is halved until the item is alone (promise 10).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from oneroof.errors import OneroofError
from oneroof.failures import error_kinds
from oneroof.failures.batch_size import Width


@dataclass(frozen=True, slots=True)
class Step:
    """What one call of `run_once` did, and for how many seconds the worker wants no other call: where it is idle there
    can be nothing for it before that.
    """

    seen: int
    written: int
    idle: bool
    rest: float = 0.0


NOTHING = Step(seen=0, written=0, idle=True)
MOVED = Step(seen=0, written=0, idle=False)


@dataclass(frozen=True, slots=True)
class Run:
    """The account of one term, which goes into `last_run_summary` (doc 39 §39.6, doc 31 §4.2)."""

    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    batch_count: int = 0
    rows_seen: int = 0
    dirty_marked: int = 0
    own: int = 0
    dlq: int = 0

    def after(self, seen: int, *, marked: int, own: int, dlq: int) -> Run:
        """With one more batch."""
        return Run(
            started_at=self.started_at,
            batch_count=self.batch_count + 1,
            rows_seen=self.rows_seen + seen,
            dirty_marked=self.dirty_marked + marked,
            own=self.own + own,
            dlq=self.dlq + dlq,
        )

    def summary(self) -> dict[str, Any]:
        """The keys of doc 39; the ruleset, the snapshot and the end are added where it is kept."""
        return {
            "batch_count": self.batch_count,
            "rows_seen": self.rows_seen,
            "dirty_marked": self.dirty_marked,
            "own": self.own,
            "dlq": self.dlq,
            "started_at": self.started_at,
        }


@dataclass(slots=True)
class Account:
    """The run that several readers of one worker move, each when its batch was committed."""

    run: Run = field(default_factory=Run)


def isolating(width: Width, attempt: Callable[[], Step], stage: Callable[[OneroofError], Step]) -> Step:
    """Run a piece. One that holds poison, or takes too long, is halved; a poison item that is alone is put aside."""
    try:
        step = attempt()
    except OneroofError as error:
        kind = error_kinds.kind_of(error)
        if kind not in (error_kinds.POISON, error_kinds.SLOW):
            raise
        if width.narrow():
            return MOVED
        if kind == error_kinds.SLOW:
            raise
        return stage(error)
    width.widen()
    return step
