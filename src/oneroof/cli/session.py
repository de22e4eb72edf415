"""What every command shares: the settings, the connection, and the two ways of speaking (a person, JSON).

A session opens the embedded server only when a command first asks for a connection and no DSN is set, and gives it
back when the command ends. Each part is imported by the method that needs it: `--version` needs no driver and no
settings, and `status --dsn` no embedded server.
"""

from __future__ import annotations

import dataclasses
import json
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from oneroof.cli.closed_pipe import ClosedPipe
from oneroof.errors import OneroofError, printable

if TYPE_CHECKING:
    from rich.console import Console

    from oneroof.cli.progress import Meter
    from oneroof.config import Settings
    from oneroof.database.connection import Connection
    from oneroof.embedded.server import EmbeddedServer

# What JSON leaves as it is and a terminal would obey.
_CONTROL = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Session:
    """One run of the command line."""

    terminated: ClassVar[bool] = False

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self.as_json = False
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @cached_property
    def error(self) -> Console:
        """The console on stderr."""
        from oneroof.cli.paper import Paper

        return Paper(stderr=True)

    @cached_property
    def settings(self) -> Settings:
        from oneroof import config

        return config.load(**self.given)

    @cached_property
    def embedded(self) -> EmbeddedServer:
        """The embedded server, started if need be, ours until the command ends."""
        from oneroof.embedded.server import EmbeddedServer

        settings = self.settings
        return self._stack.enter_context(
            EmbeddedServer.open(home=settings.home, pg_bin=settings.pg_bin, linger=settings.pg_linger, say=self.say)
        )

    def dsn(self) -> str:
        return self.settings.dsn or self.embedded.dsn(user=self.settings.pg_user)

    def connect(self, dsn: str | None = None) -> Connection:
        """A connection that lives as long as the command."""
        from oneroof.database.connection import leave

        connection = self.dial(dsn)
        self._stack.callback(leave, connection)
        return connection

    def dial(self, dsn: str | None = None) -> Connection:
        """A connection that belongs to the caller, for what has a thread of its own."""
        from oneroof.database.connection import connect

        return connect(dsn or self.dsn(), settings=self.settings)

    def log(self) -> Any:
        """What happens in a long run: a line for a person on a terminal, JSON lines for anything else."""
        from oneroof.cli.log import logger

        return logger(self.error)

    def connect_installed(self) -> Connection:
        """The same, where oneroof is installed and current; otherwise the command that helps."""
        from oneroof.database.connection import inspect
        from oneroof.install import migrate

        connection = self.connect()
        inspect(connection)
        migrate.require_current(connection)
        return connection

    def say(self, text: str) -> None:
        """Something for the person, never for the document."""
        from rich.text import Text

        self.error.print(Text(printable(text)))

    def emit(self, document: Any, human: Callable[[Console], None]) -> None:
        """The result, once: as JSON on stdout, or as a person reads it."""
        if self.as_json:
            _write(escaped(json.dumps(document, default=_plain, ensure_ascii=False, indent=2)))
        else:
            self.show(human)

    def tell(self, document: Any, text: str) -> None:
        """The result, once, where a person reads it as plain text."""
        if self.as_json:
            self.emit(document, lambda _: None)
        else:
            _write(text)

    def show(self, human: Callable[[Console], None]) -> None:
        """Something for a person before the result."""
        if not self.as_json:
            from oneroof.cli.paper import Paper

            human(Paper(stderr=False))

    def fail(self, error: OneroofError) -> int:
        """Say what happened and what helps; answer the exit code."""
        from rich.text import Text

        if self.as_json:
            said = {"error": str(error), "hint": error.hint, "exit_code": error.exit_code}
            self.emit(said | error.details, lambda _: None)
        self.error.print(Text.assemble(("oneroof: ", "bold red"), str(error)))
        if error.hint:
            self.error.print(Text(f"  try: {error.hint}"))
        return error.exit_code

    @contextmanager
    def meter(self, title: str) -> Iterator[Meter]:
        """Progress on stderr: a bar on a terminal, now and then a line elsewhere."""
        from oneroof.cli.progress import Meter

        with Meter(self.error, title) as meter:
            yield meter


def _write(text: str) -> None:
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise ClosedPipe from None


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


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)
