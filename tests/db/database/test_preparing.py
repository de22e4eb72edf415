"""Statements are prepared where the connection is the server's own, and never through a pooler."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bed import connect
from oneroof.database.connection import PREPARE_AFTER, Connection, allow_preparing
from oneroof.database.statements import one

PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT 4711%'"
KEY = b"K"


def passing_on(reading: socket.socket, writing: socket.socket, *, forging: bool) -> None:
    """Bytes from one to the other; of the server's, the process number is made up, as poolers do."""
    pending = b""
    try:
        while received := reading.recv(65536):
            pending += received
            while forging and len(pending) >= 5:
                size = 1 + int.from_bytes(pending[1:5])
                if len(pending) < size:
                    break
                message, pending = pending[:size], pending[size:]
                if message[:1] == KEY:
                    message = message[:5] + (4_000_000).to_bytes(4) + message[9:]
                writing.sendall(message)
            if not forging:
                writing.sendall(pending)
                pending = b""
    except OSError:
        pass
    finally:
        writing.close()


@contextmanager
def pooler(dsn: str) -> Iterator[str]:
    """The address of something that stands between; it serves one connection."""
    server = conninfo_to_dict(dsn)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            client, _ = listening.accept()
            behind = socket.socket(socket.AF_UNIX)
            behind.connect(f"{server['host']}/.s.PGSQL.{server['port']}")
            threading.Thread(target=passing_on, args=(client, behind), kwargs={"forging": False}, daemon=True).start()
            passing_on(behind, client, forging=True)

        threading.Thread(target=serve, daemon=True).start()
        yield make_conninfo(
            dsn, host="127.0.0.1", hostaddr="127.0.0.1", port=listening.getsockname()[1], sslmode="disable"
        )


def prepared_after(connection: Connection, times: int) -> int:
    allow_preparing(connection)
    for _ in range(times):
        connection.execute("SELECT 4711 + %s", (1,))
    return int(one(connection, PREPARED)[0])


def test_what_comes_again_is_prepared(installed_database: str) -> None:
    """From the second time on."""
    with connect(installed_database) as connection:
        connection.prepare_threshold = None
        assert prepared_after(connection, PREPARE_AFTER + 2) == 1


def test_behind_a_pooler_nothing_is_prepared(installed_database: str) -> None:
    """The next transaction may be on another process, which knows nothing of it."""
    with pooler(installed_database) as address, connect(address) as connection:
        connection.prepare_threshold = None
        (process,) = one(connection, "SELECT pg_backend_pid()")
        assert process != connection.info.backend_pid == 4_000_000
        assert prepared_after(connection, PREPARE_AFTER + 2) == 0
