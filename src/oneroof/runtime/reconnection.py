"""Reconnection: the one connection of a thread, opened when it is wanted, and again when it was lost (promise 12).

A run for ever tries for ever; a run that ends gives up when the server has been away for a minute. A connection that
is cut while it is being opened counts as one that could not be opened.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from oneroof.database.connection import Connection, allow_preparing, leave
from oneroof.database.transaction import saying
from oneroof.errors import OneroofError, Unavailable
from oneroof.failures import error_kinds

# Seconds for which a run that ends waits for a server: without it, a run in a script would hang.
PATIENCE = 60.0
# Seconds between two attempts, at first and at the most: without it, an absent server is asked without a pause.
FIRST, LONGEST = 0.1, 5.0


@dataclass(slots=True)
class Reconnection:
    """A connection that comes back; `say` is told what is wrong with it."""

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
                self.connection = self._dialled()
            except OneroofError as error:
                is_late = not self.endless and time.monotonic() - began > PATIENCE
                if self.stop.is_set() or is_late or not self._is_away(error):
                    raise
                if wait == FIRST:
                    self.say(f"{error}; trying again")
                self.stop.wait(wait)
                wait = min(LONGEST, wait * 1.5)
            else:
                return self.connection

    @property
    def is_broken(self) -> bool:
        return self.connection is not None and self.connection.closed

    def hold(self) -> None:
        """The connection was of use."""
        self._lost_since = None

    def drop(self, error: OneroofError) -> None:
        """The connection is lost. Leases stay ours; if one was taken over meanwhile, the fence says so."""
        now = time.monotonic()
        is_first = self._lost_since is None
        self._lost_since = self._lost_since or now
        if not self.endless and now - self._lost_since > PATIENCE:
            raise error
        self.say(f"{error}; connecting again")
        if self.connection is not None:
            with suppress(Exception):
                self.connection.close()
        self.connection = None
        if not is_first:
            self.stop.wait(min(LONGEST, 1.0))

    def abort(self) -> None:
        """Cancel the statement under way, from another thread."""
        if self.connection is not None:
            with suppress(Exception):
                self.connection.cancel_safe(timeout=1)

    def close(self) -> None:
        """End the connection, if there is one."""
        if self.connection is not None:
            leave(self.connection)
            self.connection = None

    def _dialled(self) -> Connection:
        connection = self.dial()
        try:
            with saying("opening a connection"):
                allow_preparing(connection)
        except BaseException:
            with suppress(Exception):
                connection.close()
            raise
        return connection

    @staticmethod
    def _is_away(error: OneroofError) -> bool:
        return isinstance(error, Unavailable) or error_kinds.kind_of(error) == error_kinds.LOST
