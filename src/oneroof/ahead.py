"""Ahead: pieces of a walk that one reading of headers has found, and whose turn is still to come.

They hold for the window they were found in and for the files that its rows lay in then, and are taken in their order:
whatever else the walk does meanwhile, and whatever goes wrong, they are forgotten and looked for again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from oneroof.strip import Piece


@dataclass(slots=True)
class Ahead:
    """The next pieces of one source's walk."""

    _pieces: deque[Piece] = field(default_factory=deque, init=False)
    _of: tuple[object, ...] = field(default=(), init=False)

    def next(self, first: int, *, of: tuple[object, ...], find: Callable[[], list[Piece]]) -> Piece:
        """The piece that begins there, in this window and these files; found now, if it is not known."""
        if not self._pieces or self._of != of or self._pieces[0].first != first:
            self._pieces, self._of = deque(find()), of
        return self._pieces.popleft()

    def forget(self) -> None:
        self._pieces.clear()
