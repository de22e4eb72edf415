"""The command line: parse, call, print. Nothing is decided here.

Of the modules here only the one that has the command is loaded, and all where a person asks what there is.

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
from typing import NoReturn

import psycopg
import typer

from oneroof import __version__
from oneroof.cli.session import ClosedPipe, Session
from oneroof.errors import OneroofError, Usage, from_database

# What typer answers for a KeyboardInterrupt, and what a shell expects of SIGINT.
INTERRUPTED = 128 + signal.SIGINT
EPILOG = (
    "Exit codes: 0 done and well, 1 done and something is wrong, 2 wrong usage, 3 refused, "
    "4 cannot reach or not installed, 5 held elsewhere."
)

# Which module has which commands, and which are a group of them, in the order of the help text.
COMMANDS = {
    "schema": ("install", "upgrade", "uninstall"),
    "run": ("run",),
    "replay": ("replay",),
    "status": ("status", "watch"),
    "trace": ("trace",),
    "prove": ("prove", "verify", "merge"),
    "policy": ("pause", "resume"),
    "demo": ("demo",),
    "doctor": ("doctor",),
}
GROUPS = (
    "estate",
    "person",
    "owners",
    "exceptions",
    "source",
    "policy",
    "rules",
    "events",
    "inbox",
    "dlq",
    "gate",
    "approvals",
    "vanishing",
    "config",
)


def root(
    ctx: typer.Context,
    dsn: str | None = typer.Option(None, help="The database; else ONEROOF_DSN, else the embedded server."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document on stdout."),
    version: bool = typer.Option(False, "--version", help="Print the version and leave.", is_eager=True),
) -> None:
    session: Session = ctx.obj
    if version:
        session.emit({"version": __version__}, lambda out: out.print(f"oneroof {__version__}"))
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        session.emit({"help": ctx.get_help()}, lambda out: out.print(ctx.get_help()))
        raise typer.Exit
    if dsn == "":
        raise Usage("--dsn is empty", hint="leave it out for the embedded server")
    session.given = {"dsn": dsn}
    session.as_json = as_json


def application(word: str | None = None) -> typer.Typer:
    """The command that a word names, or all of them if it names none."""
    app = typer.Typer(
        name="oneroof",
        help="A governance verdict for every object in your PostgreSQL registries, and a proof that none was missed.",
        epilog=EPILOG,
        invoke_without_command=True,
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    chosen = [module for module, words in COMMANDS.items() if word in words]
    groups = [name for name in GROUPS if name == word]
    if not (chosen or groups):
        chosen, groups = list(COMMANDS), list(GROUPS)
    for module in chosen:
        import_module(f"oneroof.cli.{module}").register(app)
    for name in groups:
        app.add_typer(import_module(f"oneroof.cli.{name}").app, name=name)
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


def named(words: Sequence[str]) -> str | None:
    """The word that names the command, of words that were hoisted."""
    pending = iter(words)
    for word in pending:
        if word == "--dsn":
            next(pending, None)
        elif not word.startswith("-"):
            return word
    return None


def main(words: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit; a traceback is never what a user sees of a known failure."""
    arguments = hoist(sys.argv[1:] if words is None else words)
    with Session() as session:
        session.as_json = "--json" in arguments
        app = application(named(arguments))
        try:
            # Both undo whatever is under way, and tell the server to stop working on it.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, _terminate)
            code = app(args=arguments, obj=session, standalone_mode=False)
        except OneroofError as error:
            code = session.fail(error)
        except (UnicodeError, OverflowError, OSError) as error:
            code = session.fail(Usage(f"{type(error).__name__}: {error}", hint="oneroof --help"))
        except psycopg.Error as error:
            code = session.fail(from_database(error, "asking the server"))
        except typer.TyperException as error:
            code = session.fail(Usage(error.format_message(), hint="oneroof --help"))
        except (typer.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except ClosedPipe:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
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
