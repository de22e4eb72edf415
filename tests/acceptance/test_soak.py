"""The heavy runs of `make soak`: the full estate, and kills again and again."""

from __future__ import annotations

import random
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bed import Bed, await_gone, command, connect, eventually, spawn
from oneroof.estate.build import DEFAULT_ROWS

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="or-") as folder:
        yield Path(folder)
        await_gone(Path(folder))


def test_the_full_demo_as_a_new_user_runs_it(home: Path) -> None:
    """1,037,724 births, installed, gates opened by two people, examined; and once more from there."""
    env = {"ONEROOF_HOME": str(home)}
    first = command("demo", "--once", "--json", env=env, fresh=True)
    assert first.code == 0, first.err
    assert first.json["rows"] == DEFAULT_ROWS
    assert command("demo", "--once", env=env, fresh=True).code == 0


def test_a_demo_killed_again_and_again_succeeds_in_the_end(home: Path) -> None:
    """kill -9 and Ctrl-C at random moments, from the first initdb on: the next one always can."""
    env = {"ONEROOF_HOME": str(home), "ONEROOF_PG_LINGER": "0"}
    chance = random.Random(1)
    pause = threading.Event()
    for _ in range(40):
        process = spawn("demo", "--rows", "60000", "--once", env=env, fresh=True)
        pause.wait(chance.uniform(0.3, 4))
        process.send_signal(chance.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM]))
        _, err = process.communicate(timeout=120)
        assert "Traceback" not in err
    done = command("demo", "--rows", "60000", "--once", "--json", env=env, fresh=True)
    assert done.code == 0, done.err


def test_installers_killed_in_company(lone_bed: Bed) -> None:
    """Installers and uninstallers in two databases, some killed: at the end each is whole, and the roles can go."""
    template = lone_bed.estate()
    chance = random.Random(2)
    pause = threading.Event()
    with lone_bed.database(template) as first, lone_bed.database(template) as second:
        dsns = [lone_bed.dsn(first), lone_bed.dsn(second)]
        for _ in range(25):
            running = [
                spawn(*chance.choice([["install"], ["uninstall", "--yes"], ["upgrade"]]), dsn=chance.choice(dsns))
                for _ in range(3)
            ]
            pause.wait(chance.uniform(0.4, 1.2))
            chance.choice(running).kill()
            for process in running:
                _, err = process.communicate(timeout=120)
                assert process.returncode in (0, 4, -signal.SIGKILL), err
        for dsn in dsns:
            assert command("uninstall", "--yes", dsn=dsn).code == 0
        with connect(dsns[0]) as connection:
            count = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'oneroof%'"
            eventually(lambda: connection.execute(count).fetchone() == (0,), what="the roles to be gone")
