"""One snapshot of the whole database, read in pieces (promise 14: announced, bounded, and can be called off).

Every statement sees the same moment and is over within seconds: what is large is read in ranges of pages, or of keys.
Several connections may read the one snapshot together, as `pg_dump --jobs` does. The tables are held against ALTER and
TRUNCATE, and the horizon stands, until the walk ends; so it ends in any case.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from oneroof.db import Connection, one, queries, transaction
from oneroof.errors import Wrong
from oneroof.tail import SLOTS, tid

Progress = Callable[[str, int, int], None]
Query = str | sql.SQL | sql.Composed

# Each statement of a snapshot ends within this, in seconds, and the whole of it within that.
STATEMENT = 5.0
LONGEST = 3600.0
# Pages at once: a hundred thousand rows or so.
PAGES = 4_096
# As the workers read: keys and facts are texts, and a policy that would hide rows is an error. Pieces are added up by
# hashing, whatever the planner knows of tables that nobody has analysed yet.
SETTINGS = {
    "row_security": "off",
    "timezone": "UTC",
    "datestyle": "ISO",
    "max_parallel_workers_per_gather": "0",
    "work_mem": "64MB",
    "enable_sort": "off",
    "enable_mergejoin": "off",
}


@dataclass(slots=True)
class Walk:
    """A snapshot that is being read, by one connection or several."""

    connection: Connection
    progress: Progress
    others: Sequence[Connection] = ()
    longest: float = LONGEST
    _began: float = field(default_factory=time.monotonic, init=False)

    def rows(self, query: Query, parameters: dict[str, Any] | None = None) -> list[TupleRow]:
        """One statement."""
        return self._ask(self.connection, query, parameters or {})

    def each(
        self,
        table: sql.Identifier,
        label: str,
        query: Query,
        parameters: dict[str, Any] | None = None,
        *,
        pages: int | None = None,
    ) -> Iterator[TupleRow]:
        """What a statement says of every range of pages that a table has, %(first)s to %(last)s, with progress."""
        pieces = list(self._pieces(table, pages or PAGES))
        free: SimpleQueue[Connection] = SimpleQueue()
        for connection in (self.connection, *self.others):
            free.put(connection)

        def ask(piece: dict[str, Any]) -> list[TupleRow]:
            connection = free.get()
            try:
                return self._ask(connection, query, {**(parameters or {}), **piece})
            finally:
                free.put(connection)

        self.progress(label, 0, len(pieces))
        with _together(1 + len(self.others), (self.connection, *self.others)) as pool:
            for number, answer in enumerate([pool(ask, piece) for piece in pieces], start=1):
                yield from answer()
                self.progress(label, number, len(pieces))

    def pages(
        self, query: Query, parameters: dict[str, Any], *, after: Any, most: int, label: str
    ) -> Iterator[list[TupleRow]]:
        """What a statement says of %(most)s keys at a time, behind %(after)s; its first column is the last key of
        them, NULL behind the end.
        """
        while after is not None:
            self.progress(label, 0, 1)
            found = self.rows(query, {**parameters, "after": after, "most": most})
            after = found[0][0] if found else None
            yield found

    def _pieces(self, table: sql.Identifier, pages: int) -> Iterator[dict[str, Any]]:
        """The first read locks the table against a rewrite, so that no row moves to where the walk has been."""
        for connection in (self.connection, *self.others):
            self._ask(connection, sql.SQL("SELECT FROM {} LIMIT 0").format(table), {})
        given = {"relation": table.as_string(self.connection)}
        ((blocks, leaves, *_),) = self.rows(queries("cursor")["ground"], given)
        pages = max(1, pages // max(1, len(leaves)))
        for block in range(0, blocks, pages):
            yield {"first": tid(block * SLOTS), "last": tid((block + pages) * SLOTS)}

    def _ask(self, connection: Connection, query: Query, parameters: dict[str, Any]) -> list[TupleRow]:
        if time.monotonic() - self._began > self.longest:
            raise Wrong(f"the proof took longer than {self.longest:,.0f} s, and was given up")
        return connection.execute(query, parameters).fetchall()


@contextmanager
def _together(width: int, connections: Sequence[Connection]) -> Iterator[Callable[..., Callable[[], list[TupleRow]]]]:
    """Calls that several threads make; a single one makes them when they are asked for. Whatever ends this early calls
    off what is under way.
    """
    if width == 1:
        yield lambda call, piece: lambda: call(piece)
        return
    pool = ThreadPoolExecutor(max_workers=width)
    try:
        yield lambda call, piece: _result(pool.submit(call, piece))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for connection in connections:
            with suppress(psycopg.Error):
                connection.cancel_safe(timeout=5)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _result(future: Future[list[TupleRow]]) -> Callable[[], list[TupleRow]]:
    return future.result


@contextmanager
def walking(
    connection: Connection,
    *,
    doing: str,
    progress: Progress,
    others: Sequence[Connection] = (),
    longest: float = LONGEST,
) -> Iterator[Walk]:
    """Read in one snapshot; nothing can be written in it. The others take it over from the first."""
    limits: dict[str, Any] = {
        "doing": doing,
        "statement_timeout": STATEMENT,
        "lock_timeout": STATEMENT / 2,
        "settings": SETTINGS,
    }
    with ExitStack() as stack:
        stack.enter_context(transaction(connection, one_snapshot=True, **limits))
        if others:
            (name,) = one(connection, "SELECT pg_catalog.pg_export_snapshot()")
            for other in others:
                stack.enter_context(transaction(other, one_snapshot=str(name), **limits))
        yield Walk(connection, progress, others, longest)
