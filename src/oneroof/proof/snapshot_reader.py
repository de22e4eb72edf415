"""One snapshot of the whole database, read range by range (promise 14: announced, bounded, and can be called off).

Every statement sees the same moment and is over within seconds: what is large is read in ranges of pages, or of keys.
Several connections may read the one snapshot together, as `pg_dump --jobs` does. The tables are held against ALTER and
TRUNCATE, and the horizon stands, until the snapshot read ends; so it ends in any case.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from psycopg import sql
from psycopg.rows import TupleRow

from oneroof.database.connection import Connection
from oneroof.database.parallel_reader import read_each
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import Wrong
from oneroof.tail.row_queries import SLOTS, tid

Progress = Callable[[str, int, int], None]
Query = str | sql.SQL | sql.Composed

# Each statement of a snapshot ends within this, in seconds, and the whole of it within that.
STATEMENT = 5.0
LONGEST = 3600.0
# Pages at once: a hundred thousand rows or so.
PAGES = 4_096
# As the workers read: keys and facts are texts, and a policy that would hide rows is an error. Pieces are added up by
# hashing, whatever the planner knows of tables that were never analysed.
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

        def ask(connection: Connection, piece: dict[str, Any]) -> list[TupleRow]:
            return self._ask(connection, query, {**(parameters or {}), **piece})

        self.progress(label, 0, len(pieces))
        answers = read_each((self.connection, *self.others), ask, pieces)
        for number, answer in enumerate(answers, start=1):
            yield from answer
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
        """The first read locks the table against a rewrite, so that no row moves behind the reader."""
        for connection in (self.connection, *self.others):
            self._ask(connection, sql.SQL("SELECT FROM {} LIMIT 0").format(table), {})
        given = {"relation": table.as_string(self.connection)}
        ((blocks, leaves, *_),) = self.rows(queries("tail/table_files")["ground"], given)
        pages = max(1, pages // max(1, len(leaves)))
        for block in range(0, blocks, pages):
            yield {"first": tid(block * SLOTS), "last": tid((block + pages) * SLOTS)}

    def _ask(self, connection: Connection, query: Query, parameters: dict[str, Any]) -> list[TupleRow]:
        if time.monotonic() - self._began > self.longest:
            raise Wrong(f"the proof took longer than {self.longest:,.0f} s, and was given up")
        return connection.execute(query, parameters).fetchall()


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
