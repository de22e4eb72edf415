"""What failed, and what becomes of it: again, later, or a dead letter, but never lost (doc 39 §39.7, promise 10).

One place decides what an error means. A poison item is staged on `event_pending` with its key beside it, tried again
with a bounded exponential back-off, and after the policy's last attempt is a dead letter with a finding; a person
replays or resolves it. done + waiting + dead = seen, always.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg.rows import class_row

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError, Refused
from oneroof.failures.error_kinds import describe


@dataclass(frozen=True, slots=True)
class Item:
    """One failed row version of a source."""

    item_id: int
    worker_name: str
    source_name: str
    source_key: str
    state: str
    attempts: int
    next_attempt_at: Any
    sqlstate: str
    last_error: str
    died_at: Any
    resolved_by: str | None
    resolution: str | None
    created_at: Any
    updated_at: Any


@dataclass(frozen=True, slots=True)
class Standing:
    """An item that is not over: of which row, and of which version of it."""

    item_id: int
    source_key: str
    row_xid: int


def due(connection: Connection, *, worker: str, source: str, most: int) -> dict[int, str]:
    """The keys of items whose time has come, by item."""
    parameters = {"worker": worker, "source": source, "most": most}
    return dict(connection.execute(queries("failures/failed_items")["due"], parameters).fetchall())


def standing(connection: Connection, *, source: str, after: int, most: int) -> list[Standing]:
    """Some items of a source that wait or are dead, of whichever worker."""
    parameters = {"scope": source, "after": after, "most": most}
    return [Standing(*row) for row in connection.execute(queries("failures/failed_items")["standing"], parameters)]


def finish(connection: Connection, items: list[int], *, resolution: str | None = None) -> int:
    """These went well, or are over for a reason; how many were not before."""
    given = {"items": items, "resolution": resolution}
    return int(one(connection, queries("failures/failed_items")["finish"], given)[0]) if items else 0


def fail(connection: Connection, items: list[int], error: OneroofError) -> None:
    """These failed once more."""
    connection.execute(queries("failures/failed_items")["fail"], {"items": items, **describe(error)})


def listing(
    connection: Connection,
    *,
    states: list[str],
    worker: str | None,
    source: str | None,
    error: str | None,
    most: int | None,
) -> list[Item]:
    """Failed items, the oldest first."""
    parameters = {"states": states, "worker": worker, "source": source, "error": error, "most": most}
    with (
        transaction(connection, doing="listing dead letters", read_only=True, statement_timeout=5),
        connection.cursor(row_factory=class_row(Item)) as cursor,
    ):
        return cursor.execute(queries("failures/failed_items")["listing"], parameters).fetchall()


def find(connection: Connection, item_id: int) -> Item:
    """One item."""
    with (
        transaction(connection, doing=f"reading item {item_id}", read_only=True),
        connection.cursor(row_factory=class_row(Item)) as cursor,
    ):
        found = cursor.execute(queries("failures/failed_items")["find"], {"item": item_id}).fetchone()
    if found is None:
        raise Refused(f"there is no failed item {item_id}", hint="oneroof dlq list")
    return found


def replay(connection: Connection, items: list[int]) -> int:
    """Give dead letters, or what was resolved too early, one more attempt; how many were."""
    with transaction(connection, doing="replaying dead letters", role="oneroof_operator"):
        (woken,) = one(connection, queries("failures/failed_items")["replay"], {"items": items})
    return int(woken)


def resolve(connection: Connection, items: list[int], *, reason: str) -> int:
    """Say that failed items need no more attempts; how many did."""
    with transaction(connection, doing="resolving dead letters", role="oneroof_operator"):
        (ended,) = one(connection, queries("failures/failed_items")["resolve"], {"items": items, "reason": reason})
    return int(ended)
