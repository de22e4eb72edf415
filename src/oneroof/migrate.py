"""Install, upgrade, uninstall: one script of steps, printed or run, all or nothing.

Numbered migrations change tables once and are remembered with their hash; functions, views and grants are applied
whole each time. The script that `--print` shows is the script that runs. The substrate gets grants and nothing
else (promise 19); uninstall takes even those back.
"""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import psycopg
from psycopg import errors as pg

from oneroof import __version__, substrate
from oneroof.config import Settings
from oneroof.db import Connection, inspect, queries
from oneroof.errors import Refused, Unavailable, Wrong, from_database

LEDGER = "public.governance_migration"
ATTEMPTS = 8
_FILE = re.compile(r"^(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.up\.sql$")


@dataclass(frozen=True, slots=True)
class Step:
    """A named piece of the script."""

    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered change of the tables, and its way back."""

    number: int
    name: str
    up: str
    down: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.up.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class State:
    """What a database has, against what this package ships."""

    installed: bool
    applied: dict[int, tuple[str, str]]
    content_sha256: str | None
    version: str | None

    @property
    def pending(self) -> list[Migration]:
        return [migration for migration in migrations() if migration.number not in self.applied]

    @property
    def current(self) -> bool:
        return self.installed and not self.pending and self.content_sha256 == content_sha256()


@cache
def migrations() -> tuple[Migration, ...]:
    """The shipped migrations in order; a gap in the numbers or a missing way back is a defect."""
    folder = _sql("migrations")
    found = []
    for path in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if match := _FILE.match(path.name):
            down = folder.joinpath(path.name.replace(".up.sql", ".down.sql"))
            found.append(Migration(number=int(match["number"]), name=match["name"], up=_text(path), down=_text(down)))
    assert [m.number for m in found] == list(range(1, len(found) + 1))
    return tuple(found)


def content_sha256() -> str:
    """One hash over everything that is applied whole."""
    digest = hashlib.sha256()
    for step in [Step("roles", _part("roles")), *_whole()]:
        digest.update(f"{step.name}\0{step.sql}\0".encode())
    return digest.hexdigest()


def read_state(connection: Connection) -> State:
    """What is applied here; an edited file, or a newer database, is an error that says so."""
    (ledger,) = connection.execute("SELECT to_regclass(%s)", (LEDGER,)).fetchone() or (None,)
    if ledger is None:
        return State(installed=False, applied={}, content_sha256=None, version=None)
    named = queries("migrate")
    try:
        applied = {number: (name, sha) for number, name, sha in connection.execute(named["applied"])}
        version, content = connection.execute(named["schema"]).fetchone() or (None, None)
    except pg.InsufficientPrivilege as error:
        raise Refused(
            f"this login may not read {LEDGER}",
            hint="ask for a role: oneroof person add … or GRANT oneroof_reader TO …",
        ) from error
    shipped = {migration.number: migration for migration in migrations()}
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
    return State(installed=True, applied=applied, content_sha256=content, version=version)


def require_current(connection: Connection) -> None:
    """Refuse to work on a schema that is missing or old, and say the command that helps."""
    state = read_state(connection)
    if not state.installed:
        raise Unavailable("oneroof is not installed in this database", hint="oneroof install")
    if not state.current:
        raise Unavailable(
            f"the schema here is of oneroof {state.version}; this is {__version__} and its schema differs",
            hint="oneroof upgrade",
        )


def install(connection: Connection, *, settings: Settings) -> bool:
    """Bring the schema to what this package ships. False if it already was."""
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
    lacking = substrate.lacks(connection)
    if lacking:
        raise Unavailable(
            f"the database {server.database} does not have the substrate: " + "; ".join(map(str, lacking)),
            hint="install where the host's tables are, or try it on a replica: oneroof estate build",
        )

    def once() -> bool:
        connection.execute(_begin(settings).sql)
        state = read_state(connection)
        if not needed(state):
            return False
        for step in _install_steps(state.pending):
            connection.execute(step.sql)
        return True

    return _all_or_nothing(connection, once, doing="installing oneroof")


def uninstall(connection: Connection, *, settings: Settings) -> bool:
    """Take everything of ours away, and the roles with it when no other database needs them."""
    inspect(connection)

    def once() -> bool:
        connection.execute(_begin(settings).sql)
        state = read_state(connection)
        if not state.installed:
            return False
        for step in _uninstall_steps(m for m in migrations() if m.number in state.applied):
            connection.execute(step.sql)
        return True

    return _all_or_nothing(connection, once, doing="uninstalling oneroof")


def print_install(settings: Settings) -> str:
    """The script for an empty host, in plain SQL."""
    return _script([_begin(settings), _substrate_guard(), *_install_steps(migrations())])


def print_upgrade(settings: Settings) -> str:
    """The script for psql on any older schema: each migration asks first whether it was applied."""
    steps = []
    for step in _install_steps(migrations()):
        if match := re.match(r"migration (\d{4})", step.name):
            number = int(match[1])
            guard = f"SELECT NOT EXISTS (SELECT FROM {LEDGER} WHERE number = {number}) AS todo \\gset\n"
            step = Step(step.name, f"{guard}\\if :todo\n{step.sql}\n\\endif")
        steps.append(step)
    return _script([_begin(settings), *steps])


def print_uninstall(settings: Settings) -> str:
    """The script that takes it all away."""
    return _script([_begin(settings), *_uninstall_steps(migrations())])


def _begin(settings: Settings) -> Step:
    """Installers wait for each other; the host's sessions are never kept waiting for long."""
    return Step(
        "begin",
        "SET LOCAL search_path = public, pg_temp;\n"
        "SET LOCAL client_min_messages = warning;\n"
        "SET LOCAL check_function_bodies = off;\n"
        "SET LOCAL lock_timeout = '60s';\n"
        "SELECT pg_advisory_xact_lock(hashtextextended('oneroof.schema', 0));\n"
        f"SET LOCAL lock_timeout = '{int(settings.lock_timeout * 1000)}ms';",
    )


def _install_steps(pending: Iterable[Migration]) -> list[Step]:
    return [
        Step("roles", _part("roles")),
        Step(
            "act as oneroof_owner",
            "GRANT USAGE, CREATE ON SCHEMA public TO oneroof_owner;\nSET LOCAL ROLE oneroof_owner;",
        ),
        *(
            Step(
                f"migration {m.number:04d} {m.name}",
                f"{m.up.rstrip()}\n"
                f"INSERT INTO {LEDGER} (number, name, sha256) VALUES ({m.number}, '{m.name}', '{m.sha256}');",
            )
            for m in pending
        ),
        *_whole(),
        Step(
            "record",
            "SET LOCAL ROLE oneroof_owner;\n"
            "INSERT INTO public.governance_schema (version, content_sha256)\n"
            f"VALUES ('{__version__}', '{content_sha256()}')\n"
            "ON CONFLICT (only_row) DO UPDATE SET version = excluded.version,\n"
            "  content_sha256 = excluded.content_sha256, applied_at = now();\n"
            "SET LOCAL ROLE NONE;\nREVOKE CREATE ON SCHEMA public FROM oneroof_owner;",
        ),
        Step("people", _part("people")),
    ]


def _whole() -> list[Step]:
    """What is applied whole: old views go, functions are replaced, the ones no longer shipped are dropped."""
    functions = _folder("functions")
    shipped = ", ".join(f"'{step.name.removeprefix('function ')}'" for step in functions)
    return [
        Step("drop views", _part("drop_views")),
        *functions,
        *_folder("views"),
        Step("drop functions no longer shipped", _part("drop_functions").replace("/* shipped */", shipped)),
        Step("substrate grants", _substrate_grants()),
        Step("grants", _text(_sql("grants.sql"))),
    ]


def _uninstall_steps(applied: Iterable[Migration]) -> list[Step]:
    downs = sorted(applied, key=lambda m: m.number, reverse=True)
    return [
        Step("take the roles for ourselves", _part("roles")),
        Step("act as oneroof_owner", "SET LOCAL ROLE oneroof_owner;"),
        Step("leave the channels in order", _part("leave_channels")),
        Step("drop views", _part("drop_views")),
        Step("drop functions", _part("drop_functions").replace("/* shipped */", "''")),
        *(Step(f"migration {m.number:04d} {m.name}, back", m.down.rstrip()) for m in downs),
        Step("act as the installer again", "SET LOCAL ROLE NONE;"),
        Step("give back grants and roles", _part("unroles")),
    ]


def _substrate_grants() -> str:
    names = ", ".join(f"public.{table.name}" for table in substrate.tables())
    return f"SET LOCAL ROLE NONE;\nGRANT SELECT ON {names}\n  TO oneroof_owner, oneroof_reader, oneroof_worker;"


def _substrate_guard() -> Step:
    names = ", ".join(f"'{table.name}'" for table in substrate.tables())
    return Step("substrate", _part("substrate_guard").replace("/* tables */", names))


def _script(steps: Iterable[Step]) -> str:
    body = "\n\n".join(f"-- {step.name}\n{step.sql.rstrip()}" for step in steps)
    return f"-- oneroof {__version__}\n\\set ON_ERROR_STOP on\nBEGIN;\n\n{body}\n\nCOMMIT;\n"


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


def _folder(name: str) -> list[Step]:
    paths = sorted(_sql(name).iterdir(), key=lambda entry: entry.name)
    return [
        Step(f"{name.removesuffix('s')} {path.name.removesuffix('.sql')}", _text(path))
        for path in paths
        if path.name.endswith(".sql")
    ]


def _part(name: str) -> str:
    return _text(_sql("install").joinpath(f"{name}.sql"))


def _sql(name: str) -> Traversable:
    return files("oneroof").joinpath("sql", name)


def _text(path: Traversable) -> str:
    return path.read_text(encoding="utf-8").strip() + "\n"
