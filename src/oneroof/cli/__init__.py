"""The command line: parse, call, print. Nothing is decided here.

Two tables have every command with its help line. `--help` lists them; the module of a command is imported when that
command is called. tests/unit/test_command_words.py holds the tables against what the modules register.

`--json` and `--dsn` may stand before or after the command. With `--json` stdout is one JSON document, also for an
error; everything else goes to stderr. Exit codes are in `oneroof.errors`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from oneroof import __version__
from oneroof.cli.closed_pipe import ClosedPipe
from oneroof.cli.session import Session
from oneroof.errors import OneroofError, Usage, from_database

# What typer answers for a KeyboardInterrupt, and what a shell expects of SIGINT.
INTERRUPTED = 128 + signal.SIGINT
EPILOG = (
    "Exit codes: 0 done and well, 1 done and something is wrong, 2 wrong usage, 3 refused, "
    "4 cannot reach or not installed, 5 held elsewhere."
)

# The module that registers the command, and what the help of the whole says of it; in the order of that help.
COMMANDS = {
    "install": ("schema", "Install into the database that has the host's tables."),
    "upgrade": ("schema", "Bring an older schema to this version."),
    "uninstall": ("schema", "Take everything of oneroof's away again."),
    "run": ("run", "Run the workers."),
    "replay": ("replay", "Read a source again and add what is missing."),
    "status": ("status", "How far every worker is and whether it lives."),
    "watch": ("watch", "Raise and clear the findings about the workers."),
    "trace": ("trace", "Why an object has the verdict it has."),
    "prove": ("prove", "Prove that no object was missed."),
    "verify": ("prove", "Check a certificate: hash, signature, chain."),
    "merge": ("prove", "Add up certificates of many databases."),
    "pause": ("policy", "Pause a worker in every process that runs it."),
    "resume": ("policy", "Let a paused worker go on from where it stands."),
    "demo": ("demo", "Show oneroof on the embedded server."),
    "doctor": ("doctor", "Examine a database without changing it."),
}
# Groups of commands: each is the `app` of the module of its name.
GROUPS = {
    "estate": "A replica of the host system with simulated data.",
    "person": "Who may ask and who may decide.",
    "owners": "Who answers for what: people and offices, from a file.",
    "exceptions": "What need not be covered; one person asks, another ratifies.",
    "source": "The tables that are tailed.",
    "policy": "Pace and limits of each worker.",
    "rules": "What makes a verdict.",
    "events": "Signals: what may be said, who let it, and what was.",
    "inbox": "The signals that an office or a person wants to see.",
    "dlq": "Items that failed: they wait, die after the last attempt.",
    "gate": "Switches that are closed unless two different people opened them.",
    "approvals": "What waits for a second person, and what was decided.",
    "vanishing": "Groups of which too much vanished at once.",
    "config": "What is set, and where from.",
}


class Commands(TyperGroup):
    """All commands by name and help line; the one that is called is loaded, no other."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        lines = {name: line for name, (_, line) in COMMANDS.items()} | GROUPS
        self.commands = {name: TyperCommand(name, help=line) for name, line in lines.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        return name, load(name) if name else None, rest


def load(name: str) -> Any:
    """The command, or the group of commands, that its module registers under this name."""
    app = typer.Typer(rich_markup_mode=None)
    if name in GROUPS:
        app.add_typer(import_module(f"oneroof.cli.{name}").app, name=name)
    else:
        import_module(f"oneroof.cli.{COMMANDS[name][0]}").register(app)
    return typer.main.get_group(app).commands[name]


def root(
    ctx: typer.Context,
    dsn: str | None = typer.Option(None, help="The database; else ONEROOF_DSN, else the embedded server."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document on stdout."),
    version: bool = typer.Option(False, "--version", help="Print the version and leave.", is_eager=True),
) -> None:
    # The command is loaded by now; from here on both signals undo what is under way, on the server too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)
    session: Session = ctx.obj
    if version:
        say_version(session)
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        session.tell({"help": ctx.get_help()}, ctx.get_help())
        raise typer.Exit
    if dsn == "":
        raise Usage("--dsn is empty", hint="leave it out for the embedded server")
    session.given = {"dsn": dsn}
    session.as_json = as_json


def say_version(session: Session) -> None:
    session.tell({"version": __version__}, f"oneroof {__version__}")


def application() -> typer.Typer:
    """All commands, of which none is loaded yet."""
    app = typer.Typer(
        name="oneroof",
        cls=Commands,
        help="A governance verdict for every object in your PostgreSQL registries, and a proof that none was missed.",
        epilog=EPILOG,
        invoke_without_command=True,
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    return app


def hoist(words: Sequence[str]) -> list[str]:
    """Move `--json` and `--dsn` to the front, wherever they stand, so that both places work."""
    front: list[str] = []
    rest: list[str] = []
    pending = iter(words)
    for word in pending:
        if word == "--":
            rest += [word, *pending]
        elif word == "--json":
            front.append(word)
        elif word == "--dsn":
            value = next(pending, None)
            front += [word] if value is None else [word, value]
        elif word.startswith("--dsn="):
            front.append(word)
        else:
            rest.append(word)
    return front + rest


def main(words: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit; a traceback is never what a user sees of a known failure."""
    arguments = hoist(sys.argv[1:] if words is None else words)
    with Session() as session:
        session.as_json = "--json" in arguments
        code: object = 0
        try:
            if set(arguments) - {"--json"} == {"--version"}:
                # Without typer, which loads pydantic to read any option.
                say_version(session)
            else:
                code = application()(args=arguments, obj=session, standalone_mode=False)
        except OneroofError as error:
            code = session.fail(error)
        except (UnicodeError, OverflowError, OSError) as error:
            code = session.fail(Usage(f"{type(error).__name__}: {error}", hint="oneroof --help"))
        except typer.TyperException as error:
            code = session.fail(Usage(error.format_message(), hint="oneroof --help"))
        except (typer.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except ClosedPipe:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except Exception as error:
            # The driver is imported here and not above: most of what `--version` would load is the driver.
            import psycopg

            if not isinstance(error, psycopg.Error):
                raise
            code = session.fail(from_database(error, "asking the server"))
        # From here on everything is only given back, which the kernel does for us too.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if code == INTERRUPTED:
            session.say("stopped; nothing was left half-done")
            code = 128 + signal.SIGTERM if session.terminated else INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    Session.terminated = True
    raise KeyboardInterrupt
