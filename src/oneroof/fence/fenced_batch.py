"""A fenced batch: one transaction of a worker, from its cursor on, behind the fence (doc 39 §39.6, promises 4 and 7).

BEGIN, the settings, the fence and the cursor are one message; the cursor's next place goes out with COMMIT. A
serialization failure, a deadlock or a lock time-out runs the piece again whole (promise 12). Cursor and effects commit
together, so a commit that the server forgets in a crash takes both with it: no batch waits for the disk.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from oneroof.database.connection import Connection
from oneroof.database.transaction import Transaction, transaction
from oneroof.errors import OneroofError
from oneroof.failures import error_kinds
from oneroof.fence import cursor, lease
from oneroof.fence.cursor import Cursor
from oneroof.fence.lease import Lease

READ_LIMIT = 5.0
ATTEMPTS = 6
SETTINGS = {
    "timezone": "UTC",
    "datestyle": "ISO",
    # A policy that would hide rows is an error: silence would be an omission.
    "row_security": "off",
    "synchronous_commit": "off",
}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Batch:
    """The transaction of one batch: `cursor` is the cursor as it was read behind the fence."""

    cursor: Cursor
    transaction: Transaction

    @property
    def connection(self) -> Connection:
        return self.transaction.connection

    def advance(
        self,
        *,
        at: dict[str, Any] | None,
        seen: int,
        written: int,
        coalesced: int = 0,
        watermark: tuple[str, str] | None = None,
        summary: dict[str, Any],
    ) -> None:
        """Move the cursor on inside its window, in one message with COMMIT; a watermark moves up and never down."""
        self.flush()
        told: dict[str, Any] = {"seen": seen, "written": written, "coalesced": coalesced, "summary": summary}
        self.transaction.last = cursor.advancing(self.cursor, at=at, watermark=watermark, **told)

    def flush(self) -> None:
        """Move the cursor now, because a statement that follows must find it moved."""
        self.transaction.flush()


@contextmanager
def fenced_batch(
    connection: Connection,
    held: Lease,
    *,
    worker: str,
    source: str,
    doing: str,
    overlap: str | None = None,
    planning: Mapping[str, str] | None = None,
) -> Iterator[Batch]:
    """One transaction behind the fence, as the worker's role, each statement within the limit. With an `overlap` the
    cursor says when the oldest open transaction began; `planning` are settings of the planner.
    """
    # A zombie's locks must go before its lease runs out.
    idle = {"idle_in_transaction_session_timeout": f"{int(held.ttl * 500)}ms"}
    reading = cursor.reading(worker=worker, source=source, overlap=overlap)
    with transaction(
        connection,
        doing=doing,
        role="oneroof_worker",
        statement_timeout=READ_LIMIT,
        lock_timeout=READ_LIMIT / 2,
        settings={**SETTINGS, **(planning or {}), **idle},
        first=b"; ".join([lease.fence(held), reading]),
    ) as under_way:
        yield Batch(cursor.read(under_way.answer), under_way)


def run_fenced(connection: Connection, held: Lease, piece: Callable[[Batch], T], **batch: Any) -> T:
    """Run a piece of work in a fenced batch, and again whole where it met another transaction. What the piece learns it
    returns: an attempt that was not kept leaves nothing behind in the worker either.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with fenced_batch(connection, held, **batch) as begun:
                return piece(begun)
        except OneroofError as error:
            if attempt == ATTEMPTS or error_kinds.kind_of(error) != error_kinds.AGAIN:
                raise
            time.sleep(random.uniform(0.01, 0.05) * attempt)  # noqa: S311
    raise AssertionError("unreachable")
