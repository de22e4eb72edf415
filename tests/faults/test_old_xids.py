"""A database that has seen more transactions than 32 bits can tell apart (promises 1 and 2; design: the tail, care).

A row that is frozen keeps the xid that wrote it, and `age()` of it turns negative after 2^31 more. The server is real:
between two starts its next xid is moved on with pg_resetwal, and everything is frozen after each of the moves.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from psycopg import sql

import inventory
from bed import SETTINGS, Bed, connect, copy_pristine, own_bed, silent
from inventory import INTAKE, SWEEP
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.embedded.binaries import find_binaries
from oneroof.embedded.identity import identify
from oneroof.estate.build import build
from oneroof.install import migrate
from oneroof.sources import registration
from oneroof.tail import frontier_window

pytestmark = pytest.mark.slow

SEGMENT = 2**20  # transactions in one file of pg_xact
LEAP = 1_200 * SEGMENT  # two of them are more than 2^31
ROWS = "INSERT INTO src (id, at, code) SELECT n, NULL, 'code ' || n FROM generate_series(1, 5) AS n"


@dataclass
class Aging:
    """A server's home, and a database in it."""

    home: Path
    major: int

    def visit(self, act: Callable[[Connection], None]) -> None:
        """Start the server, do something in the database, and stop the server."""
        with own_bed(self.home, major=self.major) as bed, connect(bed.dsn("postgres")) as admin:
            act(admin)

    def grow_old(self, *, leaps: int = 2) -> None:
        """After one leap it is more than 2^30 transactions later, after two more than 2^31."""
        for _ in range(leaps):
            self.visit(lambda admin: self.leap_from(int(one(admin, "SELECT pg_current_xact_id()::text::bigint")[0])))
            self.leap()
            with own_bed(self.home, major=self.major) as bed:
                freeze(bed)

    def leap_from(self, xid: int) -> None:
        self.next_xid = (xid // SEGMENT + 1) * SEGMENT + LEAP

    def leap(self) -> None:
        server = self.home / "server"
        (binaries,) = [each for each in find_binaries() if each.major == self.major]
        identity, binaries = identify(folder=server, binaries=binaries)
        status = server / "data" / "pg_xact" / f"{self.next_xid // SEGMENT:04X}"
        status.write_bytes(bytes(SEGMENT // 4))
        identity.own(status)
        subprocess.run(
            [*identity.prefix, binaries.program("pg_resetwal"), "-x", str(self.next_xid), "-D", str(server / "data")],
            user=identity.drop_to and identity.drop_to[0],
            group=identity.drop_to and identity.drop_to[1],
            check=True,
            capture_output=True,
        )


def freeze(bed: Bed) -> None:
    """Every row of every database, so that none is in the future."""
    with connect(bed.dsn("postgres")) as admin:
        admin.execute("ALTER DATABASE template0 ALLOW_CONNECTIONS true")
        names = [name for (name,) in admin.execute("SELECT datname FROM pg_database")]
    for name in names:
        with connect(bed.dsn(name)) as connection:
            connection.execute("SET vacuum_cost_delay = 0")
            connection.execute(sql.SQL("VACUUM (FREEZE)"))


@pytest.fixture
def aging() -> Iterator[Aging]:
    major = find_binaries()[0].major
    shared = Path(os.environ["ONEROOF_TEST_HOME"])
    with tempfile.TemporaryDirectory(prefix="or-", dir=shared) as folder:
        copy_pristine(Path(folder), folder=shared / f"pristine{major}", major=major)
        made = Aging(Path(folder), major)
        made.visit(furnish)
        yield made


def furnish(admin: Connection) -> None:
    build(admin, rows=100, seed=1, progress=silent)
    migrate.install(admin, settings=SETTINGS)
    admin.execute("DELETE FROM oneroof.governance_source")
    inventory.make(admin)


def insert(admin: Connection) -> None:
    admin.execute(ROWS)


def test_a_sweep_counts_rows_of_any_age(aging: Aging) -> None:
    """What was written 2^31 transactions ago is as much a row as any other."""

    def sweep(admin: Connection) -> None:
        tailed = registration.find(admin, "src")
        inventory.sweep(admin, tailed)
        assert inventory.wrong(admin) == []
        assert inventory.seen(admin, SWEEP) == 5

    aging.visit(insert)
    aging.grow_old()
    aging.visit(sweep)


def begin_tail(admin: Connection) -> None:
    """The frontier is young, and then rows come that it does not get to see."""
    tailed = registration.find(admin, "src")
    inventory.sweep(admin, tailed)
    inventory.intake(admin, tailed)
    admin.execute(ROWS)


@pytest.mark.parametrize("leaps", [1, 2])
def test_a_frontier_that_rested_too_long_still_misses_nothing(aging: Aging, leaps: int) -> None:
    """A worker that was paused for 2^30 transactions, or 2^31, reads everything again and finds what came meanwhile."""

    def go_on(admin: Connection) -> None:
        inventory.run_out(admin)
        inventory.intake(admin, registration.find(admin, "src"))
        assert inventory.wrong(admin) == []
        assert inventory.seen(admin, INTAKE) == 5

    aging.visit(begin_tail)
    aging.grow_old(leaps=leaps)
    aging.visit(go_on)


def test_mutant_that_trusts_any_frontier_loses_rows(aging: Aging, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the limit on its distance, ages are compared that have turned negative."""
    monkeypatch.setattr(frontier_window, "FARTHEST", 2**62)

    def go_on(admin: Connection) -> None:
        tailed = registration.find(admin, "src")
        inventory.run_out(admin)
        inventory.intake(admin, tailed)
        assert len(inventory.wrong(admin)) == 5

    aging.visit(begin_tail)
    aging.grow_old()
    aging.visit(go_on)
