"""Which commands there are, and where their words may stand."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from typing import Any

import pytest
import typer

from oneroof import cli
from oneroof.cli import COMMANDS, GROUPS, application, hoist


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


def whole() -> Any:
    """The root as typer makes it, and a context to ask it in."""
    root = typer.main.get_command(application())
    return root, typer.Context(root, info_name="oneroof", resilient_parsing=True)


def registered(module: str) -> set[str]:
    """The names that a module of the command line gives to the root."""
    app = typer.Typer()
    app.callback()(lambda: None)
    if hasattr(imported := import_module(module), "register"):
        imported.register(app)
    if hasattr(imported, "app"):
        app.add_typer(imported.app, name=module.rpartition(".")[2])
    return set(typer.main.get_group(app).commands)


def test_the_tables_have_what_the_modules_register() -> None:
    """Every command and every group of every module, under the name of its module, and none besides."""
    listed: dict[str, set[str]] = {}
    for name, (module, _) in COMMANDS.items():
        listed.setdefault(f"oneroof.cli.{module}", set()).add(name)
    for name in GROUPS:
        listed.setdefault(f"oneroof.cli.{name}", set()).add(name)
    modules = [module.name for module in pkgutil.iter_modules(cli.__path__, "oneroof.cli.")]
    assert listed == {module: names for module in modules if (names := registered(module))}


@pytest.mark.parametrize("name", [*COMMANDS, *GROUPS])
def test_a_help_line_is_how_the_help_of_the_command_begins(name: str) -> None:
    """Up to a full stop, a comma, a colon or a semicolon, so that the list cannot say anything else."""
    root, context = whole()
    line = root.commands[name].help
    _, command, _ = root.resolve_command(context, [name])
    assert command.name == name
    assert re.match(re.escape(line.removesuffix(".")) + r"[.,:;]", " ".join(command.help.split()))


def test_a_shell_completes_names_and_options() -> None:
    """Names come with their help lines; the options of a command from its module."""
    root, context = whole()
    items = root.shell_complete(context, "st")
    assert [(item.value, item.help) for item in items] == [("status", COMMANDS["status"][1])]
    _, command, _ = root.resolve_command(context, ["prove"])
    own = command.shell_complete(typer.Context(command, info_name="prove", parent=context), "--d")
    assert [item.value for item in own] == ["--deep"]
