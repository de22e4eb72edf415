"""A streak of births: after many rows that were all new, the next are believed to be.

Believed births are inserted plainly, which costs half of an upsert; a key that is there ends the streak, and the same
rows are written as an upsert.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from psycopg import errors as pg

from oneroof.errors import OneroofError

# After so many rows in a row that were all new.
MANY = 500
T = TypeVar("T")


@dataclass(slots=True)
class Streak:
    """How many rows of one source, up to the last one, were all births."""

    _births: int = field(default=0, init=False)

    def lasts(self) -> bool:
        """Whether the next are believed to be births."""
        return self._births >= MANY

    def note(self, rows: int, *, born: bool) -> None:
        """Some rows were read, all of them births or not."""
        if rows:
            self._births = self._births + rows if born else 0

    def hoping(self, attempt: Callable[[], T]) -> T:
        """Try, and once more without hope if a key is there."""
        if self.lasts():
            try:
                return attempt()
            except OneroofError as error:
                if not isinstance(error.__cause__, pg.UniqueViolation):
                    raise
                self._births = 0
        return attempt()
