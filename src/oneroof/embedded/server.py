"""The embedded server as its users see it: open a share of it, get a DSN, close the share.

Invariant: the server lives while any process holds a share. A share is a lock that the kernel drops however
its process ends, so a killed user keeps nothing alive. Which lock, and why: docs/explanation/embedded.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import psycopg
from psycopg import sql

from oneroof.embedded.binaries import Binaries, find_binaries
from oneroof.embedded.cluster import SUPERUSER, Cluster
from oneroof.embedded.opening import Opening, Say
from oneroof.errors import Unavailable, Usage, from_database

DATABASE = "oneroof"
_LONGEST_NAME = 63


def _nothing(_: str) -> None:
    """Say nothing."""


class EmbeddedServer:
    """One process's share of the embedded server of a home.

    A child made by fork() shares the share: the server stays until both have closed it or ended.
    """

    def __init__(self, *, cluster: Cluster, binaries: Binaries, share: int) -> None:
        self.binaries = binaries
        self._cluster = cluster
        self._share: int | None = share

    @classmethod
    def open(
        cls,
        *,
        home: Path,
        pg_bin: Path | None = None,
        linger: float = 2.0,
        major: int | None = None,
        overrides: Mapping[str, str] = MappingProxyType({}),
        say: Say = _nothing,
    ) -> EmbeddedServer:
        """Join the server of `home`, starting it if need be, and wait as long as it takes to recover.

        `linger` and `overrides` (settings of PostgreSQL) count only for the process that starts it.
        """
        found = find_binaries(pg_bin=pg_bin)
        cluster = Cluster.under(home)
        opening = Opening(cluster=cluster, found=found, linger=linger, major=major, overrides=overrides, say=say)
        try:
            share = opening.run()
        except OSError as error:
            at = f" ({error.filename})" if error.filename else ""
            raise Unavailable(
                f"the embedded server in {cluster.folder} cannot start: {error.strerror or error}{at}",
                hint="check that the disk has room and that the folder is yours, or set another ONEROOF_HOME",
            ) from None
        try:
            # Chosen only now, for a warden already at work may have made the data folder meanwhile.
            server = cls(cluster=cluster, binaries=cluster.choose(found, major=major), share=share)
            server.ensure_database(DATABASE)
        except BaseException:
            os.close(share)
            raise
        return server

    def dsn(self, database: str = DATABASE, *, user: str = SUPERUSER) -> str:
        """The connection string of a database, quoted."""
        return self._cluster.dsn(database, user=user)

    def ensure_database(self, name: str) -> None:
        """Create a database unless it is there; any number of processes may do so at once."""
        if not 0 < len(name.encode()) <= _LONGEST_NAME or "\0" in name:
            raise Usage(f"{name!r} cannot name a database: it must have 1 to {_LONGEST_NAME} bytes")
        try:
            with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
                connection.execute("SELECT pg_advisory_lock(hashtext(%s))", (name,))
                known = "SELECT FROM pg_database WHERE datname = %s"
                if connection.execute(known, (name,)).fetchone() is None:
                    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        except psycopg.errors.DuplicateDatabase:
            return
        except psycopg.Error as error:
            raise from_database(error, f"creating the database {name}") from None

    def close(self) -> None:
        """Give up this process's share; the server goes when no process has one."""
        if self._share is not None:
            # Closed and not unlocked: a forked child keeps what it has.
            os.close(self._share)
            self._share = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
