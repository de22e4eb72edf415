"""One transaction: its role, its limits and its search path, in one message with BEGIN.

All of it is said with SET LOCAL, so that a pooler in transaction mode is safe. Whatever the DSN's own power, `role`
drops it for the length of the transaction (doc 39 §39.5: read and propose workers). What the caller gives as `last`
goes out in one message with COMMIT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from oneroof.database.connection import Answer, Connection
from oneroof.errors import Wrong, from_database

_COMMIT = b"COMMIT"


@dataclass(slots=True)
class Transaction:
    """A transaction that is under way: the answers to its first message, and the statement that goes out with COMMIT;
    if that fails, so does the commit.
    """

    connection: Connection
    answer: Answer
    last: bytes | None = None

    def flush(self) -> None:
        """Send now what waits for COMMIT, because a statement that follows must find it done."""
        if self.last is not None:
            statement, self.last = self.last, None
            self.connection.execute(statement, prepare=False)


@contextmanager
def saying(doing: str) -> Iterator[None]:
    """Whatever the server refuses in here becomes one sentence that names the act."""
    try:
        yield
    except psycopg.Error as error:
        raise from_database(error, doing) from error


@contextmanager
def transaction(
    connection: Connection,
    *,
    doing: str,
    role: str | None = None,
    read_only: bool = False,
    statement_timeout: float | None = None,
    lock_timeout: float | None = None,
    search_path: str = "pg_catalog, pg_temp",
    settings: Mapping[str, str] | None = None,
    first: bytes | None = None,
    one_snapshot: bool | str = False,
) -> Iterator[Transaction]:
    """One transaction with its role and limits; a failure leaves nothing and says what was being done. What it has to
    say `first` goes in one message with BEGIN and the settings, and its answer is the last of that message's. In
    `one_snapshot` all statements see the same moment, and none writes; by its name it is one that another has exported.

    Names of ours are qualified, so that nothing planted in `public` is ever taken for a function or operator of
    PostgreSQL's; only who builds a whole schema (the estate) asks for another search path.
    """
    # Compiling a statement that is over in milliseconds takes a second, and the planner's guess decides about it.
    words = {"search_path": search_path, "jit": "off"}
    if read_only:
        words["transaction_read_only"] = "on"
    if statement_timeout is not None:
        words["statement_timeout"] = f"{int(statement_timeout * 1000)}ms"
    if lock_timeout is not None:
        words["lock_timeout"] = f"{int(lock_timeout * 1000)}ms"
    words |= settings or {}
    if role is not None:
        words["role"] = role
    opening = b"; ".join([_settings(tuple(words.items())), *([] if first is None else [first])])
    with saying(doing), _committing(connection, opening, one_snapshot=one_snapshot) as under_way:
        yield under_way


@contextmanager
def _committing(connection: Connection, opening: bytes, *, one_snapshot: bool | str) -> Iterator[Transaction]:
    """A transaction that begins with these words, in one message; inside another one a part of it."""
    if connection.info.transaction_status != TransactionStatus.IDLE:
        if one_snapshot:
            raise Wrong("a snapshot of its own cannot begin inside another transaction")
        with connection.transaction():
            under_way = Transaction(connection, connection.execute(opening, prepare=False))
            yield under_way
            under_way.flush()
        return
    try:
        opened = connection.execute(b"; ".join([*_beginning(one_snapshot), opening]), prepare=False)
        under_way = Transaction(connection, opened)
        yield under_way
        closing = _COMMIT if under_way.last is None else b"; ".join([under_way.last, _COMMIT])
        ended = connection.execute(closing, prepare=False)
        while ended.nextset():
            pass
    except BaseException:
        # What a cut connection cannot take back, the server does.
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK", prepare=False)
        raise
    # A failure that the caller swallowed in there must not pass for a commit.
    if ended.statusmessage != "COMMIT":
        raise Wrong("the transaction had failed, and nothing of it was kept")


def _beginning(one_snapshot: bool | str) -> list[bytes]:
    if not one_snapshot:
        return [b"BEGIN"]
    begin = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    if isinstance(one_snapshot, str):
        return [begin, sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(one_snapshot)).as_bytes(None)]
    return [begin]


@cache
def _settings(words: tuple[tuple[str, str], ...]) -> bytes:
    calls = [
        sql.SQL("pg_catalog.set_config({}, {}, true)").format(sql.Literal(name), sql.Literal(value))
        for name, value in words
    ]
    return sql.SQL("SELECT {}").format(sql.SQL(", ").join(calls)).as_bytes(None)
