"""What every command shares: the settings, the connection, and the two ways of speaking (a person, JSON).

A session opens the embedded server only when a command first asks for a connection and no DSN is set, and gives it
back when the command ends.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, ClassVar, Self

from rich.console import Console
from rich.table import Table
from rich.text import Text

from oneroof import config, db, migrate
from oneroof.cli.progress import Meter
from oneroof.config import Settings
from oneroof.embedded import EmbeddedServer
from oneroof.errors import OneroofError, printable

# What JSON leaves as it is and a terminal would obey.
_CONTROL = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Of a table that goes into a file or another program.
WIDTH = 160


class ClosedPipe(Exception):
    """Whoever read our output went away; nobody is left to tell."""


class Paper(Console):
    """A console on stdout or stderr that lets the caller decide what a closed pipe means."""

    def __init__(self, *, stderr: bool) -> None:
        super().__init__(stderr=stderr, highlight=False, soft_wrap=True)
        if not self.is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
            self.width = WIDTH

    def on_broken_pipe(self) -> None:
        raise ClosedPipe


class Session:
    """One run of the command line."""

    terminated: ClassVar[bool] = False

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self.as_json = False
        self._stack = ExitStack()
        self._settings: Settings | None = None
        self._embedded: EmbeddedServer | None = None
        self.error = Paper(stderr=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @property
    def settings(self) -> Settings:
        if self._settings is None:
            self._settings = config.load(**self.given)
        return self._settings

    @property
    def embedded(self) -> EmbeddedServer:
        """The embedded server, started if need be, ours until the command ends."""
        if self._embedded is None:
            settings = self.settings
            self._embedded = self._stack.enter_context(
                EmbeddedServer.open(home=settings.home, pg_bin=settings.pg_bin, linger=settings.pg_linger, say=self.say)
            )
        return self._embedded

    def dsn(self) -> str:
        return self.settings.dsn or self.embedded.dsn(user=self.settings.pg_user)

    def connect(self, dsn: str | None = None) -> db.Connection:
        """A connection that lives as long as the command."""
        connection = db.connect(dsn or self.dsn(), settings=self.settings)
        self._stack.callback(db.leave, connection)
        return connection

    def dial(self, dsn: str | None = None) -> db.Connection:
        """A connection that belongs to the caller, for what has a thread of its own."""
        return db.connect(dsn or self.dsn(), settings=self.settings)

    def log(self) -> Any:
        """What happens in a long run: a line for a person on a terminal, JSON lines for anything else."""
        # It brings a tenth of all there is to load, and one command of many writes a log.
        from oneroof.cli.log import logger

        return logger(self.error)

    def connect_installed(self) -> db.Connection:
        """The same, where oneroof is installed and current; otherwise the command that helps."""
        connection = self.connect()
        db.inspect(connection)
        migrate.require_current(connection)
        return connection

    def say(self, text: str) -> None:
        """Something for the person, never for the document."""
        self.error.print(Text(printable(text)))

    def emit(self, document: Any, human: Callable[[Console], None]) -> None:
        """The result, once: as JSON on stdout, or as a person reads it."""
        if self.as_json:
            text = json.dumps(document, default=_plain, ensure_ascii=False, indent=2)
            try:
                sys.stdout.write(escaped(text) + "\n")
                sys.stdout.flush()
            except BrokenPipeError:
                raise ClosedPipe from None
        else:
            human(Paper(stderr=False))

    def show(self, human: Callable[[Console], None]) -> None:
        """Something for a person before the result."""
        if not self.as_json:
            human(Paper(stderr=False))

    def fail(self, error: OneroofError) -> int:
        """Say what happened and what helps; answer the exit code."""
        if self.as_json:
            self.emit({"error": str(error), "hint": error.hint, "exit_code": error.exit_code}, lambda _: None)
        self.error.print(Text.assemble(("oneroof: ", "bold red"), str(error)))
        if error.hint:
            self.error.print(Text(f"  try: {error.hint}"))
        return error.exit_code

    @contextmanager
    def meter(self, title: str) -> Iterator[Meter]:
        """Progress on stderr: a bar on a terminal, now and then a line elsewhere."""
        with Meter(self.error, title) as meter:
            yield meter


def escaped(text: str) -> str:
    """JSON without anything that a terminal would obey."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def stop_on_signal() -> threading.Event:
    """The first signal ends what is at hand; a second one ends at once, as everywhere else."""
    stop = threading.Event()

    def hear(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, hear)
    return stop


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None) -> Table:
    """A table of cells that are data, never markup; control characters are replaced."""
    built = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        built.add_column(column, overflow="fold")
    for row in rows:
        built.add_row(*(cell if isinstance(cell, Text) else Text(_cell(cell)) for cell in row))
    return built


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(map(_cell, value))
        case _ if hasattr(value, "isoformat"):
            return str(value.isoformat(sep=" ", timespec="seconds"))
        case _:
            return printable(str(value))


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)
