"""Failed items of one source: put aside, and tried again when their time has come, all that are due in one statement.

Of an item whose row is a candidate already, in an earlier version, the candidate is told. One of whose row a later
version was applied is over (docs/explanation/failures/failed-items.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from oneroof.candidates import apply_batch
from oneroof.candidates.apply_batch import Applied, Ask
from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.errors import OneroofError
from oneroof.failures import error_kinds, failed_items
from oneroof.failures.batch_size import Width
from oneroof.fence.fenced_batch import Batch, run_fenced
from oneroof.fence.lease import Lease
from oneroof.fence.step import NOTHING, Step, isolating
from oneroof.intake import change_marks
from oneroof.sources.row_expressions import could_be_key
from oneroof.sources.source import INVENTORY, Source
from oneroof.tail import row_queries

# Items to look at together.
MOST = 1_000


def apply(connection: Connection, source: Source, asked: Ask, *, poison: OneroofError | None) -> Applied:
    """Apply rows, or put them aside that are known to be poison."""
    return apply_batch.apply(connection, asked) if poison is None else stage(connection, source, asked)


def stage(connection: Connection, source: Source, asked: Ask) -> Applied:
    """Put rows aside that cannot be applied, and tell the candidates that earlier versions of them have made."""
    done = apply_batch.apply(connection, asked)
    if done.staged and source.source_kind == INVENTORY:
        _know(connection, source, done.staged)
    return done


@dataclass(slots=True)
class Retries:
    """What waits of one cursor."""

    worker: str
    source: Source
    name: str
    width: Width
    # A sweep's items never overwrite what the intake knows better.
    anew: bool
    # Behind which item to look for those that are over; None until the frontier moves.
    _looking: int | None = field(default=None, init=False)

    def look_again(self) -> None:
        """The frontier has moved: later versions of rows that failed may have been applied."""
        self._looking = 0

    def run_once(self, connection: Connection, held: Lease, *, due: bool) -> Step:
        """Try what is due, if any is; the one that fails again is found by halving, and waits longer or is dead. Before
        that, end what is over.
        """
        who: dict[str, Any] = {"worker": self.worker, "source": self.name, "doing": f"trying again in {self.name}"}
        if self._looking is not None and not self.anew:
            ended, self._looking = run_fenced(connection, held, self._end, **who)
            if ended or self._looking:
                return Step(seen=0, written=ended, idle=False)
        if not due:
            return NOTHING
        return isolating(
            self.width,
            lambda: run_fenced(connection, held, lambda batch: self._again(batch.connection), **who),
            lambda error: run_fenced(connection, held, lambda batch: self._fail(batch.connection, error), **who),
        )

    def _end(self, batch: Batch) -> tuple[int, int | None]:
        """End some items of which the row is a later version now, below the frontier: it was applied. How many, and
        behind which item to go on.
        """
        connection, here = batch.connection, batch.cursor
        if here.frontier is None:
            return 0, None
        scope = self.source.source_name
        found = failed_items.standing(connection, source=scope, after=self._looking or 0, most=MOST)
        known = [item for item in found if could_be_key(self.source, item.source_key)]
        ended = 0
        if known:
            statement = sql.SQL(queries("intake/retry_failed")["over"]).format(
                rows=row_queries.item_rows(self.source, bare=True)
            )
            given = {
                "items": [item.item_id for item in known],
                "keys": [item.source_key for item in known],
                "xids": [item.row_xid for item in known],
            }
            row = connection.execute(statement, {**given, "scope": scope, "frontier": here.frontier}).fetchone()
            assert row is not None
            (ended,) = row
        return ended, found[-1].item_id if len(found) == MOST else None

    def _due(self, connection: Connection) -> dict[int, str]:
        return failed_items.due(connection, worker=self.worker, source=self.name, most=self.width.now)

    def _again(self, connection: Connection) -> Step:
        items = self._due(connection)
        if not items:
            return NOTHING
        who = {
            "worker": self.worker,
            "source": self.name,
            "cursor": None,
            "keep": apply_batch.FORGET,
            "keys": list(items.values()),
        }
        written = self._apply(connection, who)
        if written and not self.anew:
            change_marks.note(connection, self.source, "retry", seen=len(items), written=written)
        # A row that is gone has no work left in it; the audit accounts for it.
        failed_items.finish(connection, list(items))
        return Step(seen=0, written=written, idle=False)

    def _apply(self, connection: Connection, given: dict[str, Any]) -> int:
        rows = row_queries.item_rows(self.source)
        if self.anew:
            return apply_batch.put(connection, self.source, apply_batch.reseeding(rows).as_bytes(None), given)
        given = {**given, "again": False, "started": None}
        applying = change_marks.applying(self.source, rows).as_bytes(None)
        return apply_batch.apply(connection, apply_batch.ask(self.source, applying, given)).written

    def _fail(self, connection: Connection, error: OneroofError) -> Step:
        failed_items.fail(connection, list(self._due(connection)), error)
        return Step(seen=0, written=0, idle=False)


def _know(connection: Connection, source: Source, keys: list[str]) -> None:
    """Which candidates some rows are; nobody can say if it is that which cannot be made of them, or not in time."""
    statement = sql.SQL(queries("intake/retry_failed")["know"]).format(rows=row_queries.item_rows(source))
    try:
        with connection.transaction():
            connection.execute(statement, {"scope": source.source_name, "keys": keys})
    except psycopg.Error as error:
        if not (error_kinds.is_poison(error) or isinstance(error, psycopg.errors.QueryCanceled)):
            raise
