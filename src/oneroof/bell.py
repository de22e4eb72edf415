"""A bell: how one lane wakes another that rests."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from enum import Enum


class Call(Enum):
    """Who is meant: those who live on what others bring, or everybody."""

    FOLLOWERS = "followers"
    EVERYBODY = "everybody"


@dataclass(slots=True)
class Bell:
    """Rung from any thread, heard by one."""

    _event: threading.Event = field(default_factory=threading.Event, init=False)
    _is_for_all: bool = field(default=False, init=False)

    def ring(self, call: Call) -> None:
        self._is_for_all = self._is_for_all or call is Call.EVERYBODY
        self._event.set()

    def wait(self, seconds: float) -> Call | None:
        """Until it rings, for so long at the most; who was meant, if it did."""
        if not self._event.wait(seconds):
            return None
        self._event.clear()
        for_all, self._is_for_all = self._is_for_all, False
        return Call.EVERYBODY if for_all else Call.FOLLOWERS
