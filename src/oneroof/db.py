"""Connections and named queries: the only door to PostgreSQL.

A connection is autocommit; work happens in `transaction(...)`, which sets role, time limits and search path
with SET LOCAL, so that a pooler in transaction mode is safe. Whatever the DSN's own power, `role` drops it
for the length of the transaction (doc 39 §39.5: read and propose workers).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from oneroof.config import Settings
from oneroof.errors import Unavailable, Wrong, from_database

# What the driver could not undo on a connection we are about to drop is of no use to anybody.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

OLDEST = 15
NEWEST = 18
PREPARE_AFTER = 2
PREPARED_MOST = 500

Connection = psycopg.Connection[TupleRow]
Answer = psycopg.Cursor[TupleRow]
_COMMIT = b"COMMIT"
# What the transaction under way on a connection has still to say before its COMMIT.
_last_words: WeakKeyDictionary[Connection, bytes] = WeakKeyDictionary()
# The names of statements that were prepared by hand.
_named: WeakKeyDictionary[Connection, dict[bytes, str]] = WeakKeyDictionary()
_numbers = count()
_PARAMETER = re.compile(rb"%(?:\((?P<name>\w+)\)s|%)")
_NAME = re.compile(r"^-- (?P<name>[a-z_]+) --$(?P<body>.*?)(?=^-- [a-z_]+ --$|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Server:
    """What is at the other end."""

    version: int
    in_recovery: bool
    database: str
    login: str
    is_superuser: bool

    @property
    def major(self) -> int:
        return self.version // 10000


def connect(dsn: str, *, settings: Settings, application: str = "oneroof") -> Connection:
    """Open a connection, or say in one sentence why not. Nothing is prepared, since there may be a pooler between."""
    try:
        connection = psycopg.connect(
            dsn,
            autocommit=True,
            connect_timeout=settings.connect_timeout,
            application_name=application,
            prepare_threshold=None,
            client_encoding="UTF8",
            # A network that swallows everything is noticed within half a minute (promise 12).
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=25_000,
        )
    except (psycopg.ProgrammingError, UnicodeError, ValueError):
        # What libpq says of it quotes the very part it could not read, which may be a password.
        raise Unavailable("the DSN cannot be read", hint="--dsn 'host=… dbname=… user=…'") from None
    except psycopg.OperationalError as error:
        raise Unavailable(
            f"cannot connect: {_sentence(error)}",
            hint="check --dsn or ONEROOF_DSN; without either, oneroof starts its embedded server",
        ) from None
    return connection


def allow_preparing(connection: Connection) -> None:
    """Let statements that come again and again be prepared, unless a pooler stands between: the process number that one
    tells at the start is made up.
    """
    (process,) = one(connection, "SELECT pg_catalog.pg_backend_pid()")
    if process == connection.info.backend_pid:
        connection.prepare_threshold, connection.prepared_max = PREPARE_AFTER, PREPARED_MOST


def leave(connection: Connection) -> None:
    """Close without a commit; a statement still under way, as after Ctrl-C, is called off on the server too."""
    if connection.info.transaction_status == TransactionStatus.ACTIVE:
        with suppress(psycopg.Error):
            connection.cancel_safe(timeout=5)
    connection.close()


def inspect(connection: Connection) -> Server:
    """Read what matters of the server, and refuse one that is too old."""
    row = one(
        connection,
        """SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4, pg_catalog.pg_is_in_recovery(),
                  pg_catalog.current_database()::pg_catalog.text, session_user::pg_catalog.text, rolsuper
           FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) session_user""",
    )
    server = Server(*row)
    if server.major < OLDEST:
        raise Unavailable(
            f"the server is PostgreSQL {server.major}; oneroof needs {OLDEST} to {NEWEST}",
            hint="name another server with --dsn or ONEROOF_DSN",
        )
    return server


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
) -> Iterator[Answer]:
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
    with saying(doing), _committing(connection, opening, one_snapshot=one_snapshot) as answer:
        yield answer


@contextmanager
def _committing(connection: Connection, opening: bytes, *, one_snapshot: bool | str) -> Iterator[Answer]:
    """A transaction that begins with these words, in one message; inside another one a part of it."""
    if connection.info.transaction_status != TransactionStatus.IDLE:
        if one_snapshot:
            raise Wrong("a snapshot of its own cannot begin inside another transaction")
        say_now(connection)
        try:
            with connection.transaction():
                yield connection.execute(opening, prepare=False)
                say_now(connection)
        finally:
            _last_words.pop(connection, None)
        return
    try:
        yield connection.execute(b"; ".join([*_beginning(one_snapshot), opening]), prepare=False)
        ended = connection.execute(_closing(connection), prepare=False)
        while ended.nextset():
            pass
    except BaseException:
        _last_words.pop(connection, None)
        # What a cut connection cannot take back, the server does.
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK", prepare=False)
        raise
    # A failure that somebody swallowed in there must not pass for a commit.
    if ended.statusmessage != "COMMIT":
        raise Wrong("the transaction had failed, and nothing of it was kept")


def _beginning(one_snapshot: bool | str) -> list[bytes]:
    if not one_snapshot:
        return [b"BEGIN"]
    begin = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    if isinstance(one_snapshot, str):
        return [begin, sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(one_snapshot)).as_bytes(None)]
    return [begin]


def say_last(connection: Connection, statement: bytes) -> None:
    """Keep a statement for the end of the transaction, where it goes in one message with COMMIT; if it fails, so does
    that.
    """
    say_now(connection)
    _last_words[connection] = statement


def say_now(connection: Connection) -> None:
    """Say what was kept for the end, since more is to come that must find it done."""
    kept = _last_words.pop(connection, None)
    if kept is not None:
        connection.execute(kept, prepare=False)


def _closing(connection: Connection) -> bytes:
    kept = _last_words.pop(connection, None)
    return _COMMIT if kept is None else b"; ".join([kept, _COMMIT])


@cache
def _settings(words: tuple[tuple[str, str], ...]) -> bytes:
    calls = [
        sql.SQL("pg_catalog.set_config({}, {}, true)").format(sql.Literal(name), sql.Literal(value))
        for name, value in words
    ]
    return sql.SQL("SELECT {}").format(sql.SQL(", ").join(calls)).as_bytes(None)


def execute(
    connection: Connection, statement: bytes, parameters: Mapping[str, Any], *, prepare: bool | None = None
) -> Answer:
    """Run a statement that comes again and again; the driver would look through a long one for parameters each time.
    One that is long to plan is prepared the first time, where anything is.
    """
    numbered, names = _numbered(statement)
    return psycopg.RawCursor(connection).execute(numbered, [parameters[name] for name in names], prepare=prepare)


def prepare(connection: Connection, statement: bytes, parameters: Mapping[str, Any]) -> bool:
    """Have a statement known to the server by a name, for `calling`; whether it is. Not where nothing is prepared."""
    if connection.prepare_threshold is None:
        return False
    known = _named.setdefault(connection, {})
    if statement not in known:
        numbered, names = _numbered(statement)
        kinds = ", ".join(_kind(parameters[name]) for name in names)
        name = f"oneroof_{next(_numbers)}"
        connection.execute(f"PREPARE {name} ({kinds}) AS ".encode() + numbered, prepare=False)
        known[statement] = name
    return True


def calling(connection: Connection, statement: bytes, parameters: Mapping[str, Any]) -> str | None:
    """A statement that was prepared, with its parameters, as text for a message that says more; None if it was not."""
    name = _named.get(connection, {}).get(statement)
    if name is None:
        return None
    return f"EXECUTE {name} ({', '.join(_literal(parameters[each]) for each in _numbered(statement)[1])})"


def forget_prepared(connection: Connection) -> None:
    """After somebody has had the server forget what was prepared."""
    _named.pop(connection, None)


@lru_cache(maxsize=1000, typed=True)
def _literal(value: str | int | None) -> str:
    return sql.Literal(value).as_string(None)


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "bigint"
        case _:
            return "unknown"


@lru_cache(maxsize=500)
def _numbered(statement: bytes) -> tuple[bytes, list[str]]:
    """With the names of its parameters in the order of their numbers."""
    names: dict[str, int] = {}

    def number(found: re.Match[bytes]) -> bytes:
        name = found["name"]
        return b"%" if name is None else b"$%d" % names.setdefault(name.decode(), len(names) + 1)

    return _PARAMETER.sub(number, statement), list(names)


def one(connection: Connection, query: str | bytes, parameters: Any = None) -> TupleRow:
    """The only row of a query that always has one."""
    row = connection.execute(query, parameters).fetchone()
    if row is None:
        raise Wrong("a query that always has a row had none")
    return row


@cache
def queries(module: str) -> dict[str, str]:
    """The named queries of `sql/queries/<module>.sql`: `-- name --` and then the statement."""
    text = files("oneroof").joinpath("sql", "queries", f"{module}.sql").read_text(encoding="utf-8")
    return {found["name"]: found["body"].strip() for found in _NAME.finditer(text)}


def _sentence(error: psycopg.Error) -> str:
    """The line of libpq's that names the cause, without the list of addresses tried."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "failed:" in line or "FATAL:" in line]
    return (causes or lines or [type(error).__name__])[-1]
