"""Fixtures: which PostgreSQL a test runs on, and the database it gets."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from bed import VOLATILE, Bed, await_gone, connect, copy_pristine, own_bed
from logins import Logins, sign_in
from oneroof.database.connection import Connection
from oneroof.embedded.binaries import find_binaries
from oneroof.embedded.server import EmbeddedServer

# How long an example takes says how busy the machine is, not whether it is right.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

HOME = "ONEROOF_TEST_HOME"
EVERY_VERSION = ("tests/db", "tests/migration")
# Whole processes, and what changes rarely.
SLOW = (
    "tests/acceptance",
    "tests/db/test_attacks",
    "tests/db/test_audit",
    "tests/db/test_beside",
    "tests/db/test_births",
    "tests/db/test_estate",
    "tests/db/test_event",
    "tests/db/test_exceptions",
    "tests/db/test_failed_objects",
    "tests/db/test_findings",
    "tests/db/test_four_eyes",
    "tests/db/test_handoff",
    "tests/db/test_in_place",
    "tests/db/test_inbox",
    "tests/db/test_input_gate",
    "tests/db/intake/test_intake.py::test_a_pass_waits",
    "tests/db/test_made_up_items",
    "tests/db/test_open_span",
    "tests/db/test_outbox_refusal",
    "tests/db/test_own_objects",
    "tests/db/test_owners",
    "tests/db/test_privileges",
    "tests/db/test_proof",
    "tests/db/test_retry",
    "tests/db/test_rule_check",
    "tests/db/test_ruleset",
    "tests/db/test_signals",
    "tests/db/test_source_removal",
    "tests/db/test_untold",
    "tests/db/test_verdicts",
    "tests/db/test_watch",
    "tests/db/test_witness",
    "tests/faults",
    "tests/migration/test_install",
    "tests/plans",
    "tests/unit/test_certificate",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pg", default="newest", help="newest, all, or a major version: which PostgreSQL to test on")
    parser.addoption("--soak", action="store_true", help="also the heavy runs")
    parser.addoption("--write-golden", action="store_true", help="write the golden schema dump anew")


def roomy_memory() -> str | None:
    """A file system in memory, if there is a roomy one: a database is hundreds of files, and disks are slow at that."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30
    return str(memory) if roomy else None


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        memory = roomy_memory()
        remove_remains(Path(memory or tempfile.gettempdir()))
        os.environ[HOME] = tempfile.mkdtemp(prefix=f"or-test-{os.getpid()}-", dir=memory)


def remove_remains(folder: Path) -> None:
    """What a killed run of ours left behind."""
    for old in folder.glob("or-test-*"):
        if old.stat().st_uid == os.getuid() and not Path(f"/proc/{old.name.split('-')[2]}").exists():
            shutil.rmtree(old, ignore_errors=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        home = Path(os.environ.pop(HOME))
        for server in home.glob("*/server"):
            await_gone(server.parent)
        shutil.rmtree(home, ignore_errors=True)


@cache
def found_majors() -> list[int]:
    """Asked once: every answer runs each PostgreSQL of the machine."""
    return [binaries.major for binaries in find_binaries()]


def majors(config: pytest.Config) -> list[int]:
    found = found_majors()
    match str(config.getoption("--pg")):
        case "newest":
            return found[:1]
        case "all":
            return found
        case wanted:
            return [major for major in found if major == int(wanted)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name in ("bed", "lone_bed"):
        if name in metafunc.fixturenames:
            where = metafunc.definition.nodeid
            chosen = majors(metafunc.config)
            if not where.startswith(EVERY_VERSION):
                chosen = chosen[:1]
            metafunc.parametrize(
                name,
                chosen,
                indirect=True,
                ids=[f"pg{major}" for major in chosen],
                scope="session" if name == "bed" else None,
            )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        # Whole processes and whole servers take their time.
        if item.nodeid.startswith(SLOW) or "lone_bed" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
    if not config.getoption("--soak"):
        chosen = set(map(id, leave_to_soak(config, items)))
        left = [item for item in items if id(item) not in chosen]
        if left:
            config.hook.pytest_deselected(items=left)
            items[:] = [item for item in items if id(item) in chosen]


def leave_to_soak(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """What is run every time: on the newest PostgreSQL everything; the first case of each test also on one of the older
    ones, unless it is about commands or steps rather than the server; an installation on all of them.
    """
    found = majors(config)
    newest, older, first = max(found, default=0), found[1:], set()
    chosen = []
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        major = parameters.get("bed", parameters.get("lone_bed", newest))
        test = item.nodeid.split("[")[0]
        if item.get_closest_marker("soak"):
            continue
        if major != newest and ((test, major) in first or not is_for(item, test, int(str(major)), older)):
            continue
        first.add((test, major))
        chosen.append(item)
    return chosen


def is_for(item: pytest.Item, test: str, major: int, older: list[int]) -> bool:
    """Whether a test is run on this older version: always the same one, and each has its share."""
    if item.get_closest_marker("newest"):
        return False
    return test.startswith("tests/migration") or older[crc32(test.encode()) % len(older)] == major


@pytest.fixture(scope="session")
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """The server of one PostgreSQL version, of this test process alone: a transaction holds back the horizon of all
    databases of its server, and tests would wait for each other's.
    """
    shared = Path(os.environ[HOME])
    folder = shared / f"pg{request.param}-{os.getpid()}"
    # Tests of another version in between end the server, and the next one finds its folder as it was.
    if not folder.exists():
        copy_pristine(folder, folder=shared / f"pristine{request.param}", major=request.param)
    with EmbeddedServer.open(home=folder, major=request.param, linger=0, overrides=VOLATILE) as server:
        yield Bed(server=server, folder=folder)


@pytest.fixture
def lone_bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """A server of the test's own, gone afterwards."""
    shared = Path(os.environ[HOME])
    with tempfile.TemporaryDirectory(prefix="or-", dir=shared) as folder:
        home = Path(folder)
        copy_pristine(home, folder=shared / f"pristine{request.param}", major=request.param)
        with own_bed(home, major=request.param) as bed:
            yield bed


@pytest.fixture
def empty_database(bed: Bed) -> Iterator[str]:
    """A DSN, as superuser, of a database with nothing in it."""
    with bed.database() as name:
        yield bed.dsn(name)


@pytest.fixture
def estate_database(bed: Bed) -> Iterator[str]:
    """A DSN, as superuser, of a small estate without oneroof."""
    with bed.database(bed.estate()) as name:
        yield bed.dsn(name)


@pytest.fixture
def installed_database(bed: Bed) -> Iterator[str]:
    """A DSN, as superuser, of a small estate with oneroof installed."""
    with bed.database(bed.installed()) as name:
        yield bed.dsn(name)


@pytest.fixture
def admin(installed_database: str) -> Iterator[Connection]:
    """A connection to it, as superuser."""
    with connect(installed_database) as connection:
        yield connection


@pytest.fixture(autouse=True)
def no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a developer has set must not colour a test."""
    for name in list(os.environ):
        if name.startswith("ONEROOF_") and name != HOME:
            monkeypatch.delenv(name)


@pytest.fixture
def logins(installed_database: str) -> Iterator[Logins]:
    """The people of the estate, with the gate of signals open and all types registered."""
    with sign_in(installed_database) as people:
        yield people
