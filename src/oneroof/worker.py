"""What the workers of the family share: one fenced transaction per batch, and the account of a run.

`run_once` of a worker reads as its five words: lease, read, apply, advance, tick. A batch is one transaction; a
serialization failure, a deadlock or a lock time-out runs it again whole (promise 12). Cursor and effects commit
together, so a commit that the server forgets in a crash takes both with it: nothing waits for the disk here.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from oneroof import cursor, lease, retry
from oneroof.cursor import Cursor
from oneroof.db import Connection, transaction
from oneroof.errors import OneroofError
from oneroof.lease import Lease
from oneroof.width import Width

READ_LIMIT = 5.0
ATTEMPTS = 6
SETTINGS = {
    "timezone": "UTC",
    "datestyle": "ISO",
    # A policy that would hide rows is an error: silence would be an omission.
    "row_security": "off",
    "synchronous_commit": "off",
}
# In the books, the counts that one who writes beside another moves: never those of the other.
BESIDE = "17"
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Step:
    """What one call of `run_once` did, and for how many seconds it wants no other."""

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


def fenced(
    connection: Connection,
    held: Lease,
    batch: Callable[..., T],
    *,
    worker: str,
    source: str,
    doing: str,
    overlap: str | None = None,
    planning: Mapping[str, str] | None = None,
    more: str | None = None,
) -> T:
    """Run a batch from its cursor on in one transaction behind the fence, as the worker's role, each statement within
    the limit; first it is noted when the oldest open transaction began, if an overlap is given. `planning` are settings
    of the planner. `more` is said in the same breath, and the batch is given its answer beside the cursor.
    """
    limits = _limits(held, doing, planning or {})
    reading = cursor.reading(worker=worker, source=source, overlap=overlap)
    first = b"; ".join([lease.fence(held), reading, *([] if more is None else [more.encode()])])
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction(connection, first=first, **limits) as answer:
                if more is None:
                    return batch(cursor.read(answer))
                return batch(cursor.read(answer, place=-2), answer.set_result(-1).fetchone())
        except OneroofError as error:
            if attempt == ATTEMPTS or retry.kind_of(error) != retry.AGAIN:
                raise
            time.sleep(random.uniform(0.01, 0.05) * attempt)  # noqa: S311
    raise AssertionError("unreachable")


def fenced_late(
    connection: Connection,
    held: Lease,
    batch: Callable[[], T],
    keep: Callable[[Cursor, T], R],
    *,
    worker: str,
    source: str,
    doing: str,
    planning: Mapping[str, str] | None = None,
) -> R:
    """Run a batch while another transaction of the same lease is under way, and keep it if the cursor, which is read
    behind the fence when that one is over, is where the batch begins; `keep` says so, or raises.

    Nothing of it is seen before, and who waits for the fence is known to the server: two that wait for each other are
    told apart there.
    """
    with transaction(connection, **_limits(held, doing, {**(planning or {}), "oneroof.shard": BESIDE})):
        done = batch()
        reading = cursor.reading(worker=worker, source=source)
        answer = connection.execute(b"; ".join([lease.fence(held), reading]), prepare=False)
        return keep(cursor.read(answer), done)


def _limits(held: Lease, doing: str, settings: Mapping[str, str]) -> dict[str, Any]:
    # A zombie's locks must go before its lease runs out.
    idle = {"idle_in_transaction_session_timeout": f"{int(held.ttl * 500)}ms"}
    limits = {"statement_timeout": READ_LIMIT, "lock_timeout": READ_LIMIT / 2}
    return {"doing": doing, "role": "oneroof_worker", **limits, "settings": {**SETTINGS, **settings, **idle}}


def isolating(width: Width, attempt: Callable[[], Step], stage: Callable[[OneroofError], Step]) -> Step:
    """Run a piece. One that holds poison, or takes too long, is halved; a poison item that is alone is put aside."""
    try:
        step = attempt()
    except OneroofError as error:
        kind = retry.kind_of(error)
        if kind not in (retry.POISON, retry.SLOW):
            raise
        if width.narrow():
            return MOVED
        if kind == retry.SLOW:
            raise
        return stage(error)
    width.widen()
    return step


def sparing(attempt: Callable[[], object]) -> None:
    """Try what others would do later: what holds poison, or takes too long, is left to them."""
    try:
        attempt()
    except OneroofError as error:
        if retry.kind_of(error) not in (retry.POISON, retry.SLOW):
            raise
