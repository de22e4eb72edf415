"""What the reader of the newest rows need not look at again (docs/explanation/tail/frontier.md)."""

from __future__ import annotations

import random
from copy import copy
from dataclasses import dataclass, field

from oneroof.sources.row_expressions import EPOCH

# How far behind the latest row the newest rows are read again, for what commits late; the rest is the frontier's.
OVERLAP = "5 seconds"


@dataclass(frozen=True, slots=True)
class Known:
    """Transactions whose newest rows were all applied: each below an xid, and some others.

    A pass that one statement makes sees every row, from its beginning on, of every transaction that was finished before
    it; the next pass may leave them out if it begins no earlier. Whatever that overlooks is the frontier's, and the
    open set holds all the same.
    """

    below: int = 0
    others: frozenset[int] = frozenset()

    @property
    def text(self) -> str:
        """The others as an array of 32-bit xids."""
        return "{" + ",".join(str(xid % EPOCH) for xid in self.others) + "}"

    def after(self, horizon: int, xids: list[int]) -> Known:
        """After a pass that began when everybody below the horizon was finished, and met rows of some."""
        return Known(below=horizon, others=frozenset(xid for xid in self.others.union(xids) if xid >= horizon))


@dataclass(slots=True)
class Glance:
    """One pass over the newest rows: where it began, where it is, where the next one has to begin, and what it need not
    look at.

    `passes_over` says that a pass which finds nothing may have been over many rows all the same, of oneroof's own.
    `beyond` is the latest xid that was remembered when the pass began, or that the frontier pass added; `number` what
    the pass is called in what is remembered of it.
    """

    passes_over: bool
    since: str | None = field(default=None, init=False)
    at: list[str] | None = field(default=None, init=False)
    known: Known = field(default_factory=Known, init=False)
    beyond: int | None = field(default=None, init=False)
    number: int | None = field(default=None, init=False)
    _next_since: str | None = field(default=None, init=False)
    _is_noted: bool = field(default=False, init=False)
    _found_any: bool = field(default=True, init=False)

    @property
    def is_noting(self) -> bool:
        """Whether it has to be noted, before rows are read, when the oldest open transaction began: whatever is still
        to commit began then or later. Where the pass before met nothing, this one may begin where that did.
        """
        return self.at is None and (self._found_any or self.passes_over) and not self._is_noted

    def begin(self, *, beyond: int) -> None:
        """Of a pass that begins here: what is remembered, and what it is called, as no other is."""
        if self.at is None:
            self.number = None
        if self.at is None or self.beyond is None:
            self.beyond = beyond
        self.number = self.number or random.getrandbits(62)

    def in_doubt(self) -> Glance:
        """After a batch of which it is not known whether it was kept: what is met from here on is not of one piece with
        what was met before.
        """
        doubtful = copy(self)
        doubtful.known, doubtful.beyond, doubtful.number = Known(), None, None
        return doubtful

    def note(self, oldest: str | None) -> None:
        """The oldest open transaction began then."""
        self._next_since, self._is_noted = oldest, True

    def go_on(self, mark: list[str] | None, *, read: int, is_full: bool, horizon: int, xids: list[int]) -> None:
        """After a batch of so many rows: from its last row on, or with the next pass."""
        self._found_any = read > 0
        if mark is not None:
            self.at = mark
            return
        whole, self.at = self.at is None and not is_full, None
        since = self._next_since if self._is_noted else self.since
        if whole and since is not None and self.since is not None and since >= self.since:
            self.known = self.known.after(horizon, xids)
        else:
            self.known = Known()
        self.since, self._is_noted = since, False
