"""The newest rows of a source by their timestamp, read without waiting for the frontier
(docs/explanation/tail/frontier.md).

Each call reads one batch from an index on (timestamp, key), applies what was not seen and remembers it in the open set,
so that the frontier pass applies none of it again. Nothing that is complete rests on these reads: what they miss the
frontier pass finds (doc 39 §39.5).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any

from psycopg import sql

from oneroof.candidates import apply_batch
from oneroof.candidates.apply_batch import COMPARING, SPANS, Applied, Ask, Statements
from oneroof.candidates.streak import Streak
from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.errors import OneroofError
from oneroof.failures.batch_size import Width
from oneroof.failures.error_kinds import describe
from oneroof.fence.cursor import Cursor
from oneroof.fence.fenced_batch import Batch, run_fenced
from oneroof.fence.lease import Lease
from oneroof.fence.step import NOTHING, Account, Run, Step, isolating
from oneroof.intake import change_marks, retry_failed
from oneroof.intake.known import OVERLAP, Glance
from oneroof.sources.row_expressions import DATED
from oneroof.sources.source import Source
from oneroof.tail import frontier_window, open_set, row_queries
from oneroof.tail.forgetting import OpenSet
from oneroof.tail.row_queries import Bounds, Range


@dataclass(frozen=True, slots=True)
class _Read:
    """What one transaction has read and done, if there was a frontier to read from."""

    here: Cursor
    glance: Glance
    run: Run
    done: Applied | None = None


@dataclass(slots=True)
class NewestRows:
    """The newest rows of one source. `with_own` means that what oneroof wrote itself is read too; `effect` stands in
    for what is done with rows.
    """

    source: Source
    batch: int
    open_set: OpenSet
    account: Account
    with_own: bool = False
    effect: str | None = None
    # The cursor as the last call read it, and whether there may be more rows than that call has read.
    here: Cursor | None = field(default=None, init=False)
    is_full: bool = field(default=False, init=False)
    streak: Streak = field(default_factory=Streak, init=False)
    _width: Width = field(init=False)
    _glance: Glance = field(init=False)
    _statements: Statements = field(default_factory=Statements, init=False)

    def __post_init__(self) -> None:
        self._width = Width(most=self.batch)
        self._glance = Glance(passes_over=self.source.own_column is not None and not self.with_own)

    def run_once(self, connection: Connection, held: Lease) -> Step:
        """At most a batch of the newest rows; one that holds poison is halved."""
        return isolating(
            self._width,
            lambda: self.streak.hoping(lambda: self._batch(connection, held)),
            lambda error: self._batch(connection, held, poison=error),
        )

    def look_up_to(self, xid: int) -> None:
        """Versions of transactions up to this one may be remembered by the frontier pass."""
        if self._glance.beyond is not None:
            self._glance.beyond = max(self._glance.beyond, xid)

    def _batch(self, connection: Connection, held: Lease, *, poison: OneroofError | None = None) -> Step:
        size, name = 1 if poison else self._width.now, self.source.source_name
        try:
            read = run_fenced(
                connection,
                held,
                lambda batch: self._read(batch, size=size, poison=poison),
                worker=change_marks.WORKER,
                source=name,
                doing=f"tailing {name}",
                # Where the last call met nothing, this one may begin where that did.
                overlap=OVERLAP if self._glance.is_noting else None,
                planning=COMPARING,
            )
        except BaseException:
            # Whether the batch was kept is not known; nor is then what is remembered.
            self._glance, self.open_set.latest = self._glance.in_doubt(), None
            raise
        self.here, done = read.here, read.done
        if done is None:
            self.is_full = False
            return NOTHING
        self._glance, self.account.run, self.is_full = read.glance, read.run, done.read == size
        self.open_set.add(done.xids)
        self.streak.note(done.read, born=done.born == done.read)
        return Step(seen=done.read, written=done.written, idle=done.read == 0)

    def _read(self, batch: Batch, *, size: int, poison: OneroofError | None) -> _Read:
        here, connection, look, run = batch.cursor, batch.connection, copy(self._glance), self.account.run
        if not frontier_window.has_begun(here) or frontier_window.is_elsewhere(here):
            return _Read(here, look, run)
        if look.is_noting:
            look.note(here.oldest)
        if look.since is None:
            given = {"worker": change_marks.WORKER, "source": here.source_name, "overlap": OVERLAP}
            (look.since,) = one(connection, queries("intake/newest_rows")["since"], given)
        if self.open_set.latest is None:
            # After a step of which it is not known whether it was kept.
            look.beyond = None
        look.begin(beyond=self.open_set.read(connection, here))
        done = retry_failed.apply(
            connection, self.source, self._ask(here, look, size=size, poison=poison), poison=poison
        )
        if done.read:
            # What is staged failed, and is no change yet.
            marked = 0 if poison or here.phase == "seeding" else done.written
            run = run.after(done.counted, marked=marked, own=done.own, dlq=done.written if poison else 0)
            batch.advance(
                at=here.window_at,
                seen=done.counted,
                written=marked,
                coalesced=done.coalesced,
                watermark=done.watermark,
                summary=run.summary(),
            )
        mark = done.mark(self.source) if done.read == size else None
        look.go_on(mark, read=done.read, is_full=done.read == size, horizon=here.horizon, xids=done.xids)
        return _Read(here, look, run, done)

    def _ask(self, here: Cursor, look: Glance, *, size: int, poison: OneroofError | None) -> Ask:
        bare, births = poison is not None, self.streak.lasts()
        frontier = here.window_horizon if frontier_window.leaves_all(here) else here.frontier
        bounds = Bounds(frontier=max(frontier or 0, look.known.below), horizon=None)
        stretch = Range(part=DATED, after=look.at, upto=None)

        def compose() -> sql.Composed:
            rows = row_queries.fast_rows(self.source, bounds, stretch, bare=bare, of_others=not self.with_own)
            if bare:
                return apply_batch.staging(rows, memory=SPANS)
            how = change_marks.BORN if births else None
            return change_marks.applying(self.source, rows, how=how, effect=self.effect, memory=SPANS)

        statement = self._statements.get(bounds.shape, stretch.shape, bare, births, compose=compose)
        given: dict[str, Any] = {**bounds.parameters(), **stretch.parameters(), **frontier_window.passed(here)}
        given |= {"since": look.since, "batch": size, "done": look.known.text, "beyond": look.beyond}
        given |= {"pass": look.number, "with_own": self.with_own, "ordered_by": open_set.order(self.source)}
        given |= {"worker": change_marks.WORKER, "source": here.source_name, "cursor": here.cursor_id}
        given |= {"again": False, "started": here.metadata.get("started")}
        given |= {} if poison is None else describe(poison)
        return apply_batch.ask(self.source, statement, given)
