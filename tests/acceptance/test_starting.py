"""A command loads its own modules only, so that what a person types again and again is there at once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bed import environment
from process import PROGRAM

# Prints what is loaded when the command ends.
LOOKING = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from oneroof.__main__ import main
main()
"""
HEAVY = {"psycopg", "yaml", "cryptography", "pydantic", "structlog", "rich"}
RUNS = 5


def loaded(*words: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    program = [sys.executable, "-c", LOOKING, *words]
    ran = subprocess.run(program, env=environment(None, None), capture_output=True, text=True, check=True)
    return set(ran.stderr.split())


def cost(*words: str) -> float:
    """Processor seconds of a process, as the kernel counts them; its output is thrown away."""
    away = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    number = os.posix_spawn(words[0], words, environment(None, None), file_actions=away)
    _, status, used = os.wait4(number, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_version_and_help_load_no_command(word: str) -> None:
    """Nor anything that only a command needs."""
    modules = loaded(word)
    assert not HEAVY & modules
    own = {name for name in modules if name.startswith("oneroof.cli.")}
    assert own == {"oneroof.cli.closed_pipe", "oneroof.cli.session"}


def test_status_loads_what_it_needs(installed_database: str) -> None:
    """The driver, the settings and its table; no YAML, no keys, no log, no embedded server, no other command."""
    modules = loaded("status", "--dsn", installed_database)
    assert modules >= {"psycopg", "rich", "oneroof.reads.status"}
    assert not {"yaml", "cryptography", "structlog", "oneroof.embedded", "oneroof.workers"} & modules
    own = {name for name in modules if name.startswith("oneroof.cli.")}
    assert own == {f"oneroof.cli.{name}" for name in ("closed_pipe", "paper", "session", "status")}


@pytest.mark.parametrize("name", ["gate", "trace", "watch"])
def test_a_command_that_runs_no_worker_loads_none(name: str) -> None:
    assert "oneroof.workers" not in loaded(name, "--help")
    assert "oneroof.workers" in loaded("run", "--help")


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_version_and_help_cost_what_typer_costs(word: str) -> None:
    """Less than twice the import of typer; with all commands it is about seven times that. The best of some runs."""
    runs = [(cost(*PROGRAM, word), cost(sys.executable, "-c", "import typer")) for _ in range(RUNS)]
    ours, typer = (min(costs) for costs in zip(*runs, strict=True))
    assert ours < 2 * typer
