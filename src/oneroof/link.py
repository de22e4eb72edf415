"""A link: the one connection of a lane, opened when it is wanted, and again when it was lost (promise 12).

Whoever runs for ever tries for ever; a run that ends gives up when the server has been away for a minute.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from oneroof.connection import Connection, allow_preparing
from oneroof.errors import OneroofError, Unavailable

# Seconds for which a run that ends waits for a server, and between two attempts: at first, and later at the most.
PATIENCE = 60.0
FIRST, LONGEST = 0.1, 5.0
# Seconds before a connection that was lost is opened again: the first time, and every other.
SOON, LATER = 0.002, 1.0


@dataclass(slots=True)
class Link:
    """A connection that comes back; `say` hears what is wrong with it."""

    dial: Callable[[], Connection]
    stop: threading.Event
    endless: bool
    say: Callable[[str], None]
    connection: Connection | None = field(default=None, init=False)
    _lost_since: float | None = field(default=None, init=False)

    def open(self) -> Connection:
        """The connection as it is, or a new one."""
        if self.connection is not None:
            return self.connection
        began, wait = time.monotonic(), FIRST
        while True:
            try:
                connection = self.dial()
            except Unavailable as error:
                if self.stop.is_set() or (not self.endless and time.monotonic() - began > PATIENCE):
                    raise
                if wait == FIRST:
                    self.say(f"{error}; trying again")
                self.stop.wait(wait)
                wait = min(LONGEST, wait * 1.5)
            else:
                return self.adopt(connection)

    def adopt(self, connection: Connection) -> Connection:
        """Go on with a connection that somebody has opened."""
        allow_preparing(connection)
        self.connection = connection
        return connection

    @property
    def is_broken(self) -> bool:
        return self.connection is not None and self.connection.closed

    def hold(self) -> None:
        """It was of use."""
        self._lost_since = None

    def drop(self, error: OneroofError) -> None:
        """It is lost. Leases stay ours by their word: whoever took one over meanwhile is found out at the fence."""
        now = time.monotonic()
        self._lost_since = self._lost_since or now
        if not self.endless and now - self._lost_since > PATIENCE:
            raise error
        self.say(f"{error}; connecting again")
        if self.connection is not None:
            with suppress(Exception):
                self.connection.close()
        self.connection = None
        self.stop.wait(SOON if now == self._lost_since else LATER)

    def abort(self) -> None:
        """Call off the statement under way, from another thread."""
        if self.connection is not None:
            with suppress(Exception):
                self.connection.cancel_safe(timeout=1)
