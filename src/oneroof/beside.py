"""Beside: the next piece of a walk, applied by a second connection while the first one applies the piece before it.

Both are behind one lease, and commit in the order of the walk. The second does its work first; then it waits at the
fence, which the first one holds, and reads the cursor when that is over: if it is where the piece begins, the piece is
kept, in one transaction with the cursor's next step. In any other case nothing of it is: the lease was lost, the piece
before it failed, or not every row of it made a candidate or changed one, as when the piece before had a row of the same
key. Then it is done again, alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg

from oneroof import batch, cursor
from oneroof.ahead import Ahead
from oneroof.aside import Aside
from oneroof.batch import Applied, Ask
from oneroof.cursor import Cursor
from oneroof.db import Connection
from oneroof.errors import OneroofError
from oneroof.lease import Lease
from oneroof.strip import Piece
from oneroof.window import At
from oneroof.worker import Run, fenced_late

# A piece of fewer rows is not worth it.
FEW = 500
# Seconds between two words to one that was called off and may not have heard.
AGAIN = 0.05


class _Apart(Exception):
    """What was done is not to be kept."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What came of a piece that was applied beside another, and the account of the run with it."""

    done: Applied
    run: Run


def follows(here: Cursor, after: At, horizon: int | None) -> bool:
    """Whether the cursor is where the piece before ends, in the window that both are of."""
    return (here.window_at, here.window_horizon) == (after, horizon)


@dataclass(slots=True)
class Beside:
    """The second of two writers of one intake; one piece at a time."""

    lease: Lease
    ahead: Ahead
    who: dict[str, Any]
    _second: Aside | None = field(default=None, init=False)
    _under_way: Future[Kept | None] | None = field(default=None, init=False)

    def begin(
        self, first: Piece, ask: Callable[[Piece], Ask], *, after: At, horizon: int | None, account: Callable[[], Run]
    ) -> None:
        """Apply the piece behind the first, if it is known and both are worth it. It is kept if the cursor is then
        where the first one ends; `account` is that of the run up to there.
        """
        self._call_off()
        piece, second = self.ahead.peek(), self.ahead.second
        if piece is None or second is None or min(first.rows, piece.rows) < FEW:
            return
        asked = ask(piece)

        def keep(connection: Connection, here: Cursor, done: Applied) -> Kept:
            if not follows(here, after, horizon) or done.written < done.read:
                raise _Apart
            run = account().after(done.counted, marked=done.written, own=done.own, dlq=0)
            told: dict[str, Any] = {"seen": done.counted, "written": done.written, "coalesced": done.coalesced}
            at = {**after, "tid": piece.last}
            cursor.advance(connection, here, at=at, watermark=done.watermark, summary=run.summary(), **told)
            return Kept(done, run)

        def work(connection: Connection) -> Kept:
            return fenced_late(
                connection,
                self.lease,
                lambda: batch.apply(connection, asked),
                lambda here, done: keep(connection, here, done),
                **self.who,
            )

        self._second, self._under_way = second, second.submit(work)

    def rehearse(self, asked: Ask) -> None:
        """Have the second ready for what it is to do: it does that with a piece that has nothing in it."""

        def work(connection: Connection) -> None:
            def apply() -> None:
                batch.apply(connection, asked)
                raise _Apart

            fenced_late(connection, self.lease, apply, lambda *_: None, **self.who)

        if self.ahead.second is not None:
            self.ahead.second.submit(work)

    def end(self) -> Kept | None:
        """Wait for what is under way; None if nothing was, or nothing of it is kept. When no piece is left, the second
        has nothing to do any more.
        """
        kept = self._result()
        if kept is not None:
            self.ahead.skip()
        if not self.ahead.has_more:
            self.ahead.rest()
        return kept

    def _result(self) -> Kept | None:
        under_way, self._under_way = self._under_way, None
        try:
            return None if under_way is None else under_way.result()
        except (_Apart, OneroofError):
            return None

    def _call_off(self) -> None:
        """Have nothing under way any more: what began beside an attempt that failed."""
        while self._under_way is not None and not wait([self._under_way], timeout=AGAIN).done:
            if self._second is not None and self._second.connection is not None:
                with suppress(psycopg.Error):
                    self._second.connection.cancel_safe(timeout=1)
        self._result()
