"""One snapshot of the whole database, read in pieces (promise 14: announced, bounded, and can be called off).

Every statement sees the same moment and is over within seconds: what is large is read in ranges of pages. The tables
are held against ALTER and TRUNCATE, and the horizon stands, until the walk ends; so it ends in any case.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from psycopg import sql
from psycopg.rows import TupleRow

from oneroof.db import Connection, queries, transaction
from oneroof.errors import Wrong
from oneroof.tail import SLOTS, tid

Progress = Callable[[str, int, int], None]
Query = str | sql.SQL | sql.Composed

# Each statement of a snapshot ends within this, in seconds, and the whole of it within that.
STATEMENT = 5.0
LONGEST = 3600.0
# Pages at once: some ten thousands of rows.
PAGES = 2_048
# As the workers read: keys and facts are texts, and a policy that would hide rows is an error.
_SETTINGS = {"row_security": "off", "timezone": "UTC", "datestyle": "ISO", "max_parallel_workers_per_gather": "0"}


@dataclass(slots=True)
class Walk:
    """A snapshot that is being read."""

    connection: Connection
    progress: Progress
    longest: float = LONGEST
    _began: float = field(default_factory=time.monotonic, init=False)

    def rows(self, query: Query, parameters: dict[str, Any] | None = None) -> list[TupleRow]:
        """One statement."""
        if time.monotonic() - self._began > self.longest:
            raise Wrong(f"the proof took longer than {self.longest:,.0f} s, and was given up")
        return self.connection.execute(query, parameters or {}).fetchall()

    def pieces(self, table: sql.Identifier, label: str, *, pages: int = PAGES) -> Iterator[dict[str, Any]]:
        """The ranges of pages that a table has, as %(first)s and %(last)s, with progress. The first read locks it
        against a rewrite, so that no row moves to where the walk has been.
        """
        self.rows(sql.SQL("SELECT FROM {} LIMIT 0").format(table))
        ((blocks, _, _),) = self.rows(queries("cursor")["ground"], {"relation": table.as_string(self.connection)})
        for block in range(0, blocks, pages):
            self.progress(label, block, blocks)
            yield {"first": tid(block * SLOTS), "last": tid((block + pages) * SLOTS)}


@contextmanager
def walking(connection: Connection, *, doing: str, progress: Progress, longest: float = LONGEST) -> Iterator[Walk]:
    """Read in one snapshot; nothing can be written in it."""
    with transaction(
        connection,
        doing=doing,
        one_snapshot=True,
        statement_timeout=STATEMENT,
        lock_timeout=STATEMENT / 2,
        settings=_SETTINGS,
    ):
        yield Walk(connection, progress, longest)
