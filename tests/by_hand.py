"""Servers that a test starts and stops by hand: no warden brings them back, and they keep what they have committed.

Each is made from a data folder in which a small estate, oneroof and an open gate are ready, so that it is up in a
second. The words of the commands and the identity they run under are the embedded server's own.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

from bed import ROWS, connect, eventually, silent
from bed import SETTINGS as PLAIN
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.embedded.binaries import Binaries, find_binaries
from oneroof.embedded.cluster import Cluster
from oneroof.embedded.identity import Identity, identify
from oneroof.estate.build import build
from oneroof.install import migrate
from oneroof.people import gates, requests
from process import Process

DATABASE = "host"
GATE = "governance.workers_enabled"
PREFIX = "%m [%p] user=%u "
# Durable: fsync and all that belongs to it stay on. What runs in the background would only blur the counts.
SETTINGS = {"shared_buffers": "64MB", "autovacuum": "off", "log_line_prefix": PREFIX, "max_connections": "60"}
_ENTRY = re.compile(r"^\S+ \S+ \S+ \[(?P<pid>\d+)\] user=(?P<user>\S*) (?P<said>.*(?:\n\t.*)*)", re.MULTILINE)

# Several births may resolve to one key; the first of them stands for all (doc 31 §6).
KEY = "b.collection_name || ':' || b.entity_code"
LEFT = f"""SELECT count(*) FROM birth_registry AS b
           WHERE NOT EXISTS (SELECT FROM oneroof.governance_candidate_state AS c WHERE c.candidate_key = {KEY})"""
STRANGERS = f"""SELECT count(*) FROM oneroof.governance_candidate_state AS c
                WHERE c.source_name = 'birth_registry'
                  AND NOT EXISTS (SELECT FROM birth_registry AS b
                                  WHERE b.id::text = c.source_key AND {KEY} = c.candidate_key)"""
ACCOUNTS = f"""SELECT (SELECT count(*) FROM birth_registry) AS rows,
                      (SELECT count(DISTINCT {KEY}) FROM birth_registry AS b) AS keys,
                      (SELECT count(*) FROM oneroof.governance_candidate_state WHERE source_name = 'birth_registry')
                        AS candidates,
                      (SELECT count(*) FROM oneroof.governance_candidate_state
                       WHERE source_name = 'birth_registry' AND change_number <> 1) AS changed,
                      ({LEFT}) AS without, ({STRANGERS}) AS strangers"""
LEASES = "SELECT count(*) FROM queue_heartbeat WHERE executor_name LIKE 'gov%' AND lease_owner <> ''"
# A shard is a source of its own name, `birth_registry#1/2`.
SEEN = """SELECT coalesce(sum(events_seen), 0)::bigint FROM oneroof.gov_worker_cursor
          WHERE worker_name IN ('gov_backfill_sweep', 'gov_handoff_intake')
            AND split_part(source_name, '#', 1) = 'birth_registry'"""
CLOSED = """SELECT count(*) > 0 AND bool_and(window_horizon IS NULL AND frontier IS NOT NULL) FROM
         oneroof.gov_worker_cursor
            WHERE worker_name = 'gov_backfill_sweep' AND split_part(source_name, '#', 1) = 'birth_registry'"""


@dataclass
class Server:
    """One PostgreSQL of a test's own, with its folder, its process and its log."""

    home: Path
    binaries: Binaries
    overrides: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.cluster = Cluster.under(self.home)
        self.identity: Identity
        self.identity, self.binaries = identify(folder=self.cluster.folder, binaries=self.binaries)
        self.cluster.place_socket(self.identity)
        self.plan = self.cluster.plan(
            binaries=self.binaries,
            identity=self.identity,
            socket=self.cluster.place_socket(self.identity),
            linger=0,
            overrides={**SETTINGS, **self.overrides},
        )

    @property
    def data(self) -> Path:
        return self.cluster.data

    @property
    def log(self) -> Path:
        return self.cluster.folder / "log"

    def dsn(self, database: str = DATABASE, *, user: str = "postgres") -> str:
        return self.cluster.dsn(database, user=user)

    def initdb(self) -> None:
        """A data folder as new, with a system identifier of its own."""
        self._call([*self.plan.initdb, "--no-sync", "-D", str(self.data)])

    def copy(self, other: Path) -> None:
        """A data folder as another server left it when it was shut down."""
        shutil.copytree(other, self.data)
        self.identity.own(self.data)

    def tool(self, name: str, *words: str) -> str:
        """Run a program of PostgreSQL's as the server's own user; what it said."""
        return self._call([*self.identity.prefix, self.binaries.program(name), *words])

    def start(self) -> None:
        """Start, and wait until it serves."""
        self.launch()
        eventually(self.serves, what="the server to serve", seconds=60)

    def launch(self) -> subprocess.Popen[bytes]:
        """Start without waiting."""
        assert self.process is None or self.process.poll() is not None
        uid, gid = self.identity.drop_to or (None, None)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.plan.postgres,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.cluster.folder,
                user=uid,
                group=gid,
                extra_groups=None if uid is None else [],
            )
        return self.process

    def serves(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text(errors="replace")[-2000:]
        with suppress(psycopg.OperationalError), connect(self.dsn("postgres")):
            return True
        return False

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """End the postmaster, fast unless said, and wait until it is gone; SIGQUIT is the immediate stop."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(timeout=60)

    def stop_in_recovery(self) -> None:
        """Start, hold the process that replays the log, and stop immediately while it is at it."""
        postmaster = self.launch()
        startup = eventually(lambda: child(postmaster.pid, "startup"), what="recovery to begin", seconds=60)

        def caught() -> bool:
            os.kill(startup, signal.SIGSTOP)
            # Until recovery is under way, the state is still the one in which the server died.
            if "in crash recovery" in self.controldata("cluster state"):
                return True
            os.kill(startup, signal.SIGCONT)
            return False

        eventually(caught, what="recovery to be under way")
        postmaster.send_signal(signal.SIGQUIT)
        with suppress(ProcessLookupError):
            os.kill(startup, signal.SIGCONT)
        postmaster.wait(timeout=60)

    def controldata(self, word: str) -> str:
        """The line of pg_controldata that has the word."""
        said = self.tool("pg_controldata", "-D", str(self.data))
        return next(line for line in said.splitlines() if word in line)

    def said_to(self, user: str) -> list[str]:
        """What the log has about the sessions of a login, each entry with all its lines."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return [found["said"] for found in _ENTRY.finditer(text) if found["user"] == user]

    def _call(self, words: list[str]) -> str:
        uid, gid = self.identity.drop_to or (None, None)
        done = subprocess.run(
            words,
            cwd=self.cluster.folder,
            user=uid,
            group=gid,
            extra_groups=None if uid is None else [],
            env={name: value for name, value in os.environ.items() if not name.startswith("PG")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout


def child(pid: int, word: str) -> int:
    """The child of a process whose title has the word; 0 if there is none."""
    with suppress(FileNotFoundError):
        for number in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with suppress(FileNotFoundError):
                if word.encode() in Path(f"/proc/{number}/cmdline").read_bytes():
                    return int(number)
    return 0


@contextmanager
def server(*, ready: bool = True, overrides: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A server of the newest PostgreSQL; with the estate, oneroof and an open gate unless it is to be empty."""
    shared = Path(os.environ["ONEROOF_TEST_HOME"])
    with tempfile.TemporaryDirectory(prefix="bh-", dir=shared) as folder:
        made = Server(Path(folder), find_binaries()[0], overrides or {})
        if ready:
            made.copy(_ready(shared))
        else:
            made.initdb()
        try:
            made.start()
            yield made
        finally:
            made.stop(signal.SIGQUIT)


def _ready(shared: Path) -> Path:
    """The data folder that the others are copied from, made once per run."""
    home = shared / "ready"
    home.mkdir(exist_ok=True)
    with (home / "made.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = home / "data"
        if not done.exists():
            with tempfile.TemporaryDirectory(prefix="new-", dir=home) as folder:
                new = Server(Path(folder), find_binaries()[0])
                new.initdb()
                new.start()
                try:
                    _fill(new)
                finally:
                    new.stop()
                new.data.rename(done)
    return done


def _fill(new: Server) -> None:
    with connect(new.dsn("postgres")) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
    with connect(new.dsn()) as admin:
        build(admin, rows=ROWS, seed=1, progress=silent)
        migrate.install(admin, settings=PLAIN)
    open_gate(new)


def open_gate(new: Server) -> None:
    """The workers' gate, opened by two people."""
    with connect(new.dsn(user="requester")) as asking, connect(new.dsn(user="approver")) as deciding:
        requests.decide(deciding, gates.request(asking, GATE, reason="a test"), "approved")


def add_births(admin: Connection, collection: str, number: int) -> None:
    """So many births, a second apart and all in the past."""
    admin.execute(
        "INSERT INTO birth_registry (collection_name, entity_code, born_at)"
        " SELECT %s, n, now() - n * interval '1 second' FROM generate_series(1, %s::int) AS n",
        (collection, number),
    )


def drop_code_indexes(admin: Connection) -> None:
    """The host's indexes on what a birth is named by: with them it could have no birth that we cannot key."""
    for (name,) in admin.execute(
        "SELECT indexname FROM pg_indexes WHERE tablename = 'birth_registry' AND indexdef ~ 'entity_code|status'"
    ).fetchall():
        admin.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))


def set_policy(admin: Connection, **columns: str) -> None:
    """Set what every worker has to keep to."""
    for name, value in columns.items():
        admin.execute(
            sql.SQL("UPDATE oneroof.governance_worker_policy SET {} = {}").format(
                sql.Identifier(name), sql.Literal(value)
            )
        )


def add_login(admin: Connection, name: str) -> None:
    """A superuser's login of another name, by which a process's sessions can be told from those of others."""
    admin.execute(sql.SQL("CREATE ROLE {} SUPERUSER LOGIN").format(sql.Identifier(name)))


def number(admin: Connection, query: str) -> int:
    (found,) = one(admin, query)
    return int(found)


def assert_accounted(admin: Connection) -> None:
    """Every birth has its candidate, nothing else has one, nothing was applied twice, and each was counted once."""
    rows, keys, candidates, changed, without, strangers = one(admin, ACCOUNTS)
    found = {"without": without, "strangers": strangers, "changed": changed, "candidates": candidates}
    wanted = {"without": 0, "strangers": 0, "changed": 0, "candidates": keys}
    assert found == wanted, f"{found}, not {wanted}"
    seen = number(admin, SEEN)
    assert seen == rows, f"{seen} counted of {rows}"


@contextmanager
def running(*processes: Process) -> Iterator[None]:
    """Whatever happens, these processes do not outlive the test."""
    try:
        yield
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.communicate()


def end(process: Process, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
    """Ask a process to end; its exit code and what it complained of."""
    if process.poll() is None:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err, err
    return process.wait(), err
