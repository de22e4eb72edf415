"""Aside: a second connection, which does its half while the first one does the other.

For what takes a processor's time and little else. It is opened when it is first wanted and closed when the work is
over. What it reads it reads as the workers' role, and writes nothing; whoever writes with it says how it is fenced.
Whoever gets no second connection does all by himself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import finalize

from oneroof.db import Connection, allow_preparing, leave, transaction
from oneroof.errors import Unavailable

# Seconds within which each statement ends.
LIMIT = 5.0
T = TypeVar("T")


@dataclass(eq=False)
class Aside:
    """One connection and one thread, both made when they are first wanted."""

    dial: Callable[[], Connection]
    # Who could not be reached is not asked again and again.
    is_out: bool = field(default=False, init=False)
    connection: Connection | None = field(default=None, init=False)
    # Also when nobody has said that it may go.
    _leaving: Callable[[], object] | None = field(default=None, init=False)
    _pool: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="aside")

    def submit(self, work: Callable[[Connection], T]) -> Future[T | None]:
        """Have something done; nothing comes of it, if there is no connection to be had."""
        return self._pool.submit(self._with, work)

    def together(
        self,
        ours: Callable[[], T],
        theirs: Callable[[Connection], T],
        *,
        doing: str,
        settings: Mapping[str, str],
    ) -> tuple[T, T | None]:
        """What both read; nothing of the second, if there was no connection to be had."""

        def read(other: Connection) -> T:
            with transaction(
                other,
                doing=doing,
                role="oneroof_worker",
                read_only=True,
                statement_timeout=LIMIT,
                lock_timeout=LIMIT / 2,
                settings=settings,
            ):
                return theirs(other)

        reading = self.submit(read)
        found = ours()
        return found, reading.result()

    def rest(self) -> None:
        """Close the connection, after whatever is under way; it is opened again when it is wanted again."""
        if self.connection is not None or self.is_out:
            self._pool.submit(self._leave).result()

    def _leave(self) -> None:
        if self._leaving is not None:
            self._leaving()
        self.connection, self._leaving, self.is_out = None, None, False

    def _with(self, work: Callable[[Connection], T]) -> T | None:
        if self.is_out:
            return None
        if self.connection is None or self.connection.closed:
            try:
                self.connection = self.dial()
            except Unavailable:
                self.is_out = True
                return None
            self._leaving = finalize(self, leave, self.connection)
            allow_preparing(self.connection)
        return work(self.connection)
