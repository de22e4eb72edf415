"""Parallel reading: ranges of a table, read by several connections at once (docs/explanation/full_audit/comparison.md,
proof.md).

Adding up is work for a processor, so that a second connection halves it. The answers come in the order of the ranges,
and a failure of any connection is one of the whole. Where no second connection is to be had the first reads everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar
from weakref import finalize

import psycopg

from oneroof.database.connection import Connection, allow_preparing, leave
from oneroof.database.transaction import transaction
from oneroof.errors import Unavailable

# Seconds within which each statement ends.
LIMIT = 5.0
T = TypeVar("T")
R = TypeVar("R")


def read_each(
    connections: Sequence[Connection], read: Callable[[Connection, R], T], ranges: Sequence[R]
) -> Iterator[T]:
    """What `read` says of each range, in their order; each connection reads one range at a time. An early end calls off
    what is under way.
    """
    if len(connections) == 1:
        for each in ranges:
            yield read(connections[0], each)
        return
    free: SimpleQueue[Connection] = SimpleQueue()
    for connection in connections:
        free.put(connection)

    def read_one(each: R) -> T:
        connection = free.get()
        try:
            return read(connection, each)
        finally:
            free.put(connection)

    pool = ThreadPoolExecutor(max_workers=len(connections))
    try:
        for reading in [pool.submit(read_one, each) for each in ranges]:
            yield reading.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for connection in connections:
            with suppress(psycopg.Error):
                connection.cancel_safe(timeout=5)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(eq=False, slots=True, weakref_slot=True)
class ParallelReader:
    """A second connection, opened by `dial` when it is first wanted; as the workers' role it only reads."""

    dial: Callable[[], Connection]
    connection: Connection | None = field(default=None, init=False)
    # Connecting failed once; not retried during this pass.
    is_refused: bool = field(default=False, init=False)

    def read(
        self,
        connection: Connection,
        read: Callable[[Connection, R], T],
        ranges: Sequence[R],
        *,
        doing: str,
        settings: Mapping[str, str],
    ) -> list[T]:
        """What `read` says of each range, by this connection and the second one."""
        second = self._open()
        if second is None:
            return list(read_each([connection], read, ranges))
        limits: dict[str, Any] = {"statement_timeout": LIMIT, "lock_timeout": LIMIT / 2}
        with transaction(second, doing=doing, role="oneroof_worker", read_only=True, settings=settings, **limits):
            return list(read_each([connection, second], read, ranges))

    def rest(self) -> None:
        """The pass is over: close the connection. It is opened again when it is wanted again."""
        if self.connection is not None:
            leave(self.connection)
        self.connection, self.is_refused = None, False

    def _open(self) -> Connection | None:
        if self.is_refused:
            return None
        if self.connection is None or self.connection.closed:
            try:
                self.connection = self.dial()
            except Unavailable:
                self.is_refused = True
                return None
            finalize(self, leave, self.connection)
            allow_preparing(self.connection)
        return self.connection
