"""What failed, and what becomes of it: again, later, or a dead letter, but never lost (doc 39 §39.7, promise 10).

One place decides what an error means. A poison item is staged on `event_pending` with its key beside it, tried again
with a bounded exponential back-off, and after the policy's last attempt is a dead letter with a finding; a person
replays or resolves it. done + waiting + dead = seen, always.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import psycopg
from psycopg import errors as pg
from psycopg.rows import class_row

from oneroof.connection import Connection
from oneroof.errors import OneroofError, Refused, printable
from oneroof.statements import one, queries
from oneroof.transaction import transaction

Kind = Literal["again", "poison", "slow", "full", "lost", "sick"]
AGAIN: Kind = "again"
POISON: Kind = "poison"
SLOW: Kind = "slow"
FULL: Kind = "full"
LOST: Kind = "lost"
SICK: Kind = "sick"
# Data exceptions, violated constraints, limits of a row, damaged pages: another row would have gone well.
_POISON = ("22", "23", "54", "XX001", "XX002")
# The connection is gone, or the server is going, not yet there, or has become a standby.
_LOST = ("08", "57P", "25P03", "25006")
_LONGEST = 500


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


def kind_of(error: OneroofError) -> Kind:
    """What an error asks for: the same again, to look for one bad item, or a pause of the worker."""
    cause = error.__cause__
    match cause:
        case pg.SerializationFailure() | pg.DeadlockDetected() | pg.LockNotAvailable():
            return AGAIN
        case pg.QueryCanceled():
            return SLOW
        case pg.DiskFull():
            return FULL
        case psycopg.Error() if is_poison(cause):
            return POISON
        case psycopg.Error() if (cause.sqlstate or "").startswith(_LOST):
            return LOST
        case psycopg.OperationalError(sqlstate=None):
            return LOST
        case _:
            return SICK


def is_poison(error: psycopg.Error) -> bool:
    """Whether another row would have gone well."""
    return (error.sqlstate or "").startswith(_POISON)


def describe(error: OneroofError) -> dict[str, str]:
    """The SQLSTATE and the sentence to keep with an item, short, and without what a terminal would obey."""
    cause = error.__cause__
    assert isinstance(cause, psycopg.Error)
    sentence = printable(cause.diag.message_primary or str(cause)).replace("\n", " ")
    return {"sqlstate": cause.sqlstate or "", "error": sentence[:_LONGEST]}


def due(connection: Connection, *, worker: str, source: str, most: int) -> dict[int, str]:
    """The keys of items whose time has come, by item."""
    parameters = {"worker": worker, "source": source, "most": most}
    return dict(connection.execute(queries("retry")["due"], parameters).fetchall())


def standing(connection: Connection, *, source: str, after: int, most: int) -> list[Standing]:
    """Some items of a source that wait or are dead, whoever put them aside."""
    parameters = {"scope": source, "after": after, "most": most}
    return [Standing(*row) for row in connection.execute(queries("retry")["standing"], parameters)]


def finish(connection: Connection, items: list[int], *, resolution: str | None = None) -> int:
    """These went well, or are over for a reason; how many were not before."""
    given = {"items": items, "resolution": resolution}
    return int(one(connection, queries("retry")["finish"], given)[0]) if items else 0


def fail(connection: Connection, items: list[int], error: OneroofError) -> None:
    """These failed once more."""
    connection.execute(queries("retry")["fail"], {"items": items, **describe(error)})


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
        return cursor.execute(queries("retry")["listing"], parameters).fetchall()


def find(connection: Connection, item_id: int) -> Item:
    """One item."""
    with (
        transaction(connection, doing=f"reading item {item_id}", read_only=True),
        connection.cursor(row_factory=class_row(Item)) as cursor,
    ):
        found = cursor.execute(queries("retry")["find"], {"item": item_id}).fetchone()
    if found is None:
        raise Refused(f"there is no failed item {item_id}", hint="oneroof dlq list")
    return found


def replay(connection: Connection, items: list[int]) -> int:
    """Give dead letters, or what was resolved too early, one more attempt; how many were."""
    with transaction(connection, doing="replaying dead letters", role="oneroof_operator"):
        (woken,) = one(connection, queries("retry")["replay"], {"items": items})
    return int(woken)


def resolve(connection: Connection, items: list[int], *, reason: str) -> int:
    """Say that failed items need no more attempts; how many did."""
    with transaction(connection, doing="resolving dead letters", role="oneroof_operator"):
        (ended,) = one(connection, queries("retry")["resolve"], {"items": items, "reason": reason})
    return int(ended)
