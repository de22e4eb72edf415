"""Connections to PostgreSQL: opened, looked at, closed.

A connection is autocommit; work happens in `transaction`. Statements are prepared only where no pooler stands between
(doc 39 §39.5).
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from oneroof.config import Settings
from oneroof.errors import Unavailable, Wrong

# What the driver could not undo on a connection that is about to be dropped is of no use.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

OLDEST = 15
NEWEST = 18
PREPARE_AFTER = 2
PREPARED_MOST = 500

Connection = psycopg.Connection[TupleRow]
Answer = psycopg.Cursor[TupleRow]


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
    found = connection.execute("SELECT pg_catalog.pg_backend_pid()").fetchone()
    if found == (connection.info.backend_pid,):
        connection.prepare_threshold, connection.prepared_max = PREPARE_AFTER, PREPARED_MOST


def leave(connection: Connection) -> None:
    """Close without a commit; a statement still under way, as after Ctrl-C, is called off on the server too."""
    if connection.info.transaction_status == TransactionStatus.ACTIVE:
        with suppress(psycopg.Error):
            connection.cancel_safe(timeout=5)
    connection.close()


def inspect(connection: Connection) -> Server:
    """Read what matters of the server, and refuse one that is too old."""
    row = connection.execute(
        """SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4, pg_catalog.pg_is_in_recovery(),
                  pg_catalog.current_database()::pg_catalog.text, session_user::pg_catalog.text, rolsuper
           FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) session_user"""
    ).fetchone()
    if row is None:
        raise Wrong("a query that always has a row had none")
    server = Server(*row)
    if server.major < OLDEST:
        raise Unavailable(
            f"the server is PostgreSQL {server.major}; oneroof needs {OLDEST} to {NEWEST}",
            hint="name another server with --dsn or ONEROOF_DSN",
        )
    return server


def _sentence(error: psycopg.Error) -> str:
    """The line of libpq's that names the cause, without the list of addresses tried."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "failed:" in line or "FATAL:" in line]
    return (causes or lines or [type(error).__name__])[-1]
