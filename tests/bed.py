"""The test bed: real servers, databases made from templates, real commands, and waiting for conditions.

Every test process has one server per PostgreSQL version. Durability is switched off there; tests about durability or
about cluster-wide roles start one of their own.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from oneroof.config import Settings
from oneroof.database.connection import Connection
from oneroof.embedded.server import EmbeddedServer
from oneroof.estate.build import build
from oneroof.install import migrate
from process import Process, start

ROWS = 2_000
VOLATILE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "shared_buffers": "128MB"}
SETTINGS = Settings(home=Path("unused"))

T = TypeVar("T")


@dataclass
class Bed:
    """One server and the databases the tests make on it."""

    server: EmbeddedServer
    folder: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _templates: set[str] = field(default_factory=set)

    @property
    def major(self) -> int:
        return self.server.binaries.major

    def dsn(self, database: str, *, user: str = "postgres") -> str:
        return self.server.dsn(database, user=user)

    @contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """The name of a fresh database, gone afterwards."""
        name = f"t_{os.getpid()}_{next(self._numbers)}"
        with connect(self.dsn("postgres")) as admin:
            admin.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                    sql.Identifier(name), sql.Identifier(template)
                )
            )
            yield name
            # The server looks again after a tenth of a second if somebody is still on the way out.
            left = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'"
            with suppress(AssertionError):
                eventually(lambda: admin.execute(left, (name,)).fetchone() == (0,), what="all to leave", seconds=0.1)
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def template(self, name: str, *, source: str, fill: Callable[[Connection], object]) -> str:
        """A database to copy from, made once per server however many processes ask."""
        if name in self._templates:
            return name
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with connect(self.dsn("postgres")) as admin:
                known = admin.execute("SELECT FROM pg_database WHERE datname = %s", (name,)).fetchone()
                if known is None:
                    made = sql.Identifier(f"{name}_new")
                    admin.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(made))
                    admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(made, sql.Identifier(source)))
                    with connect(self.dsn(f"{name}_new")) as connection:
                        fill(connection)
                    admin.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(made, sql.Identifier(name)))
        self._templates.add(name)
        return name

    def estate(self) -> str:
        """The template with a small estate."""
        return self.template("estate", source="template1", fill=lambda c: build(c, rows=ROWS, seed=1, progress=silent))

    def installed(self) -> str:
        """The template with a small estate and oneroof on it."""
        return self.template("installed", source=self.estate(), fill=lambda c: migrate.install(c, settings=SETTINGS))


def copy_pristine(home: Path, *, folder: Path, major: int) -> None:
    """Give a home a data folder as initdb makes it, copied from one that was made once per run."""
    folder.mkdir(exist_ok=True)
    with (folder / "made.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        data = folder / "server" / "data"
        if not data.exists():
            with EmbeddedServer.open(home=folder, major=major, linger=0, overrides=VOLATILE):
                pass
            await_gone(folder)
    (home / "server").mkdir(mode=0o700, parents=True)
    shutil.copytree(data, home / "server" / "data")


@contextmanager
def own_bed(folder: Path, *, major: int, overrides: Mapping[str, str] = VOLATILE) -> Iterator[Bed]:
    """A server of a test's own, for what touches the whole cluster."""
    with EmbeddedServer.open(home=folder, major=major, linger=0, overrides=overrides) as server:
        yield Bed(server=server, folder=folder)
    await_gone(folder)


def await_gone(home: Path) -> None:
    """Wait until the server of a home, whose warden holds this lock as long as it lives, is gone."""
    with (home / "server" / "warden.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def connect(dsn: str, **words: Any) -> Connection:
    return psycopg.connect(dsn, autocommit=True, **words)


def silent(label: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True)
class Ran:
    """What a real command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def command(
    *words: str,
    dsn: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    fresh: bool = False,
) -> Ran:
    """Run `oneroof` as a user does: a process of its own. `fresh` has it loaded by an interpreter of its own too."""
    with text_to_read(stdin) as given:
        process = start(words, env=environment(dsn, env), stdin=given, fresh=fresh)
    try:
        out, err = process.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert "Traceback" not in err, err
    return Ran(process.wait(), out, err)


def spawn(*words: str, dsn: str | None = None, env: Mapping[str, str] | None = None, fresh: bool = False) -> Process:
    """The same, left running."""
    with text_to_read(None) as nothing:
        return start(words, env=environment(dsn, env), stdin=nothing, fresh=fresh)


@contextmanager
def text_to_read(text: str | None) -> Iterator[int]:
    """A descriptor with this text, as a pipe has it, or with nothing."""
    if text is None:
        with Path(os.devnull).open() as nothing:
            yield nothing.fileno()
        return
    readable, writable = os.pipe()

    def fill() -> None:
        with suppress(BrokenPipeError), open(writable, "w") as pipe:  # noqa: PTH123
            pipe.write(text)

    threading.Thread(target=fill).start()
    try:
        yield readable
    finally:
        os.close(readable)


def environment(dsn: str | None, env: Mapping[str, str] | None) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ONEROOF_", "PG"))}
    return {**clean, "COLUMNS": "200", **({"ONEROOF_DSN": dsn} if dsn else {}), **(env or {})}


def eventually(condition: Callable[[], T], *, what: str, seconds: float = 30) -> T:
    """Wait until a condition holds, and answer what it answered."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        if found := condition():
            return found
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for: {what}"
        pause.wait(0.005)


def as_user(dsn: str, user: str) -> str:
    """The same database under another login."""
    return make_conninfo(dsn, user=user)


def set_clock(connection: Connection, offset: str) -> None:
    """Move the database's clock: every function of ours reads `gov_now()`, which is plain in production."""
    _replace_clock(connection, f"SELECT clock_timestamp() + interval '{offset}'")


def stop_clock(connection: Connection, *, seconds: float) -> None:
    """Let the database's clock stand, so many seconds after a moment that is the same for all."""
    _replace_clock(connection, f"SELECT timestamptz '2026-06-01 00:00:00+00' + interval '{seconds} seconds'")


def _replace_clock(connection: Connection, body: str) -> None:
    connection.execute(
        sql.SQL(
            "CREATE OR REPLACE FUNCTION oneroof.gov_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE "
            "SET search_path = pg_catalog, pg_temp AS {}"
        ).format(sql.Literal(body))
    )


def plan_nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan as EXPLAIN tells it in JSON, node by node."""
    yield plan
    for part in plan.get("Plans", []):
        yield from plan_nodes(part)
