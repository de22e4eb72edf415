"""Where the words of a command may stand."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from oneroof.cli import COMMANDS, GROUPS, application, hoist, named


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["gate", "list", "--json"], ["--json", "gate", "list"]),
        (["gate", "list", "--dsn", "x"], ["--dsn", "x", "gate", "list"]),
        (["gate", "--dsn=x", "list"], ["--dsn=x", "gate", "list"]),
        (["gate", "list", "--dsn"], ["--dsn", "gate", "list"]),
        (["gate", "request", "--", "--json"], ["gate", "request", "--", "--json"]),
        ([], []),
    ],
)
def test_json_and_dsn_are_moved_to_the_front(words: list[str], expected: list[str]) -> None:
    """Except behind `--`, where words are the user's own."""
    assert hoist(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--json", "gate", "list"], "gate"),
        (["--dsn", "run", "prove"], "prove"),
        (["--dsn=run", "prove"], "prove"),
        (["--dsn"], None),
        (["--help"], None),
        ([], None),
    ],
)
def test_the_command_is_the_first_word_that_is_no_option(words: list[str], expected: str | None) -> None:
    assert named(words) == expected


def names(app: typer.Typer) -> set[str]:
    return set(getattr(typer.main.get_command(app), "commands", {}))


def test_a_command_is_found_where_it_is_said_to_be() -> None:
    """Alone as among all, and there is none that nobody could name."""
    every = {*GROUPS, *(word for words in COMMANDS.values() for word in words)}
    assert names(application()) == names(application("unheard-of")) == every
    for word in every:
        assert word in names(application(word))
        assert names(application(word)) < every


def test_a_command_loads_no_other() -> None:
    """What a person types again and again is there at once."""
    code = "import sys; from oneroof.cli import application; application('gate'); print('oneroof.lane' in sys.modules)"
    for word, expected in (("gate", "False"), ("run", "True")):
        ran = subprocess.run(
            [sys.executable, "-c", code.replace("gate", word)], capture_output=True, text=True, check=True
        )
        assert ran.stdout.strip() == expected
