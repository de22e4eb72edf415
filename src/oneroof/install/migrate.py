"""Install, upgrade, uninstall: run the script, all or nothing, and know what a database has.

Every migration is remembered with the hash of its file, and one hash stands for all that is applied whole; together
they say whether a schema is missing, old, current, newer or edited. Installers in one cluster wait for each other.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
from psycopg import errors as pg

from oneroof import __version__
from oneroof.config import Settings
from oneroof.database import host_schema
from oneroof.database.connection import Connection, inspect
from oneroof.database.statements import queries
from oneroof.errors import Refused, Unavailable, Wrong, from_database
from oneroof.host import expected_tables
from oneroof.install import script
from oneroof.install.script import LEDGER, Migration

ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class State:
    """What a database has, against what this package ships."""

    installed: bool
    applied: dict[int, tuple[str, str]]
    content_sha256: str | None
    version: str | None
    host_schema: str | None

    @property
    def pending(self) -> list[Migration]:
        return [migration for migration in script.migrations() if migration.number not in self.applied]

    @property
    def current(self) -> bool:
        return self.installed and not self.pending and self.content_sha256 == script.content_sha256()


def read_state(connection: Connection) -> State:
    """What is applied here; an edited file, or a newer database, is an error that says so."""
    named = queries("install/migrate")
    # Asked of the table of tables and not of to_regclass, which may remember what another session has just dropped.
    installed = connection.execute(named["installed"]).fetchone()
    if installed is None:
        return State(installed=False, applied={}, content_sha256=None, version=None, host_schema=None)
    if not installed[0]:
        raise Refused(
            f"this login may not read {LEDGER}",
            hint="ask for a role: oneroof person add … or GRANT oneroof_reader TO …",
        )
    applied = {number: (name, sha) for number, name, sha in connection.execute(named["applied"])}
    version, content, host = connection.execute(named["schema"]).fetchone() or (None, None, None)
    shipped = {migration.number: migration for migration in script.migrations()}
    for number, (name, sha) in sorted(applied.items()):
        if number not in shipped:
            raise Unavailable(
                f"the database has migration {number:04d}_{name}, which this oneroof {__version__} does not know",
                hint="the database is newer: upgrade the oneroof package",
            )
        if shipped[number].sha256 != sha:
            raise Wrong(
                f"migration {number:04d}_{name} was edited after it was applied here",
                hint="restore the file, and make the change in a new migration",
            )
    return State(installed=True, applied=applied, content_sha256=content, version=version, host_schema=host)


def require_current(connection: Connection) -> None:
    """Refuse to work on a schema that is missing or old, and say the command that helps."""
    state = read_state(connection)
    if not state.installed:
        raise Unavailable("oneroof is not installed in this database", hint="oneroof install")
    if state.host_schema != host_schema.of_process():
        raise elsewhere(state, host_schema.of_process())
    if not state.current:
        raise Unavailable(
            f"the schema here is of oneroof {state.version}; this is {__version__} and its schema differs",
            hint="oneroof upgrade",
        )


def elsewhere(state: State, schema: str) -> Unavailable:
    """What a process is told whose setting names another schema of the host than this installation."""
    return Unavailable(
        f"oneroof is installed here for a host whose tables lie in the schema {state.host_schema}; "
        f"this process is set to {schema}",
        hint=f"ONEROOF_HOST_SCHEMA={state.host_schema}; or, if the host has moved its tables, oneroof upgrade",
    )


def install(connection: Connection, *, settings: Settings) -> bool:
    """Bring the schema to what this package ships. False if it already was."""
    state = read_state(connection)
    if state.installed and state.host_schema != settings.host_schema:
        raise elsewhere(state, settings.host_schema)
    return _apply(connection, settings=settings, needed=lambda state: not state.current)


def upgrade(connection: Connection, *, settings: Settings) -> bool:
    """Apply everything anew on what is installed, also where nothing seems to have changed."""
    return _apply(connection, settings=settings, needed=lambda state: state.installed)


def _apply(connection: Connection, *, settings: Settings, needed: Callable[[State], bool]) -> bool:
    server = inspect(connection)
    if server.in_recovery:
        raise Unavailable(
            f"the server is a standby and read-only; nothing can be installed in {server.database}",
            hint="name the primary with --dsn or ONEROOF_DSN",
        )
    lacking = expected_tables.lacks(connection, schema=settings.host_schema)
    if lacking:
        raise expected_tables.Lacking(server.database, settings.host_schema, lacking)

    def once() -> bool:
        connection.execute(script.begin(settings).sql)
        state = read_state(connection)
        if not needed(state):
            return False
        for step in script.install_steps(state.pending, settings=settings):
            connection.execute(step.sql)
        return True

    return _all_or_nothing(connection, once, doing="installing oneroof")


def uninstall(connection: Connection, *, settings: Settings) -> bool:
    """Take everything of ours away, and the roles with it when no other database needs them."""
    inspect(connection)

    def once() -> bool:
        connection.execute(script.begin(settings).sql)
        state = read_state(connection)
        if not state.installed:
            return False
        if state.host_schema != settings.host_schema:
            raise elsewhere(state, settings.host_schema)
        applied = (m for m in script.migrations() if m.number in state.applied)
        for step in script.uninstall_steps(applied, settings=settings):
            connection.execute(step.sql)
        return True

    return _all_or_nothing(connection, once, doing="uninstalling oneroof")


def _all_or_nothing(connection: Connection, once: Callable[[], bool], *, doing: str) -> bool:
    """Run in one transaction; where another installer or a busy table was in the way, run it again."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with connection.transaction():
                return once()
        except psycopg.Error as error:
            if not _in_the_way(error) or attempt == ATTEMPTS:
                raise from_database(error, doing) from error
            time.sleep(random.uniform(0.05, 0.2) * attempt)  # noqa: S311
    raise AssertionError("unreachable")


def _in_the_way(error: psycopg.Error) -> bool:
    match error:
        case pg.LockNotAvailable() | pg.DeadlockDetected() | pg.SerializationFailure():
            return True
        case pg.InternalError_():
            # What PostgreSQL says when two sessions change the same shared catalog row.
            return "tuple concurrently" in str(error)
        case _:
            return False
