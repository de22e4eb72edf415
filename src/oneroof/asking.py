"""What the intake asks of a source: the newest rows, or those of a piece of its walk, with all that is done with them.

A statement is composed when its shape is first asked for and kept; what differs from turn to turn are its parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from psycopg import sql

from oneroof import batch, handoff, headers, memory, tail, window
from oneroof.batch import ROWS, SPANS, UNWRITTEN, Ask, Statements
from oneroof.columns import DATED
from oneroof.cursor import Cursor
from oneroof.errors import OneroofError
from oneroof.known import Glance
from oneroof.retry import describe
from oneroof.source import INVENTORY, Source
from oneroof.strip import Piece, Question
from oneroof.tail import Bounds, Range
from oneroof.window import At

# Of what a batch wrote, and of what is remembered, the planner does not know how much it is; nor of where rows lie, so
# that a plan for one piece of the walk is one for all.
COMPARING = {"enable_nestloop": "off", "enable_seqscan": "off"}
WALKING = {**COMPARING, "plan_cache_mode": "force_generic_plan"}


@dataclass(slots=True)
class Asking:
    """The statements of one intake. `with_own` means that the newest rows are also those that oneroof wrote itself;
    `effect` stands in for what is done with rows.
    """

    source: Source
    worker: str
    with_own: bool
    effect: str | None
    _statements: Statements = field(default_factory=Statements, init=False)

    def counting(self, here: Cursor, bounds: Bounds) -> Question:
        """How many rows of a window there are; none, where the fast lane is known to have met them all."""
        return self._question("count", here, bounds, headers.tid_count_unmet)

    def finding(self, here: Cursor, bounds: Bounds) -> Question:
        """Where the rows of a window lie that the fast lane is not known to have met."""
        return self._question("found", here, bounds, headers.tid_found)

    def unknown(self) -> Question:
        """Where rows lie whose facts nobody has met."""
        statement = self._statements.get("unknown", compose=lambda: headers.tid_unknown(self.source))
        return Question(statement, {"scope": self.source.source_name})

    def newest(self, here: Cursor, look: Glance, *, size: int, births: bool, poison: OneroofError | None = None) -> Ask:
        """For the newest rows, from where the fast lane's pass is; believed to be births or not."""
        bare = poison is not None
        frontier = here.window_horizon if window.leaves_all(here) else here.frontier
        bounds = Bounds(frontier=max(frontier or 0, look.known.below), horizon=None)
        stretch = Range(part=DATED, after=look.at, upto=None)

        def compose() -> sql.Composed:
            rows = tail.fast_rows(self.source, bounds, stretch, bare=bare, of_others=not self.with_own)
            return self._effect(rows, bare=bare, births=births, memory=SPANS)

        statement = self._statements.get("fast", bounds.shape, stretch.shape, bare, births, compose=compose)
        given = {**bounds.parameters(), **stretch.parameters(), **window.passed(here)}
        given |= {"since": look.since, "batch": size}
        given |= {"done": look.known.text, "beyond": look.beyond, "pass": look.number, "with_own": self.with_own}
        given["ordered_by"] = memory.order(self.source)
        return self._ask(here, statement, given, poison=poison, again=False)

    def piece(
        self, here: Cursor, at: At, piece: Piece, *, beyond: int, births: bool, poison: OneroofError | None = None
    ) -> Ask:
        """For the rows of a piece of the walk that were not met before."""
        bare, full, first, bounds = poison is not None, at["full"], here.phase == "seeding", window.bounds(here, at)
        # What is written from a row of an inventory says of which version.
        is_written = self.source.source_kind == INVENTORY and not (bare or full or self.effect)
        anew = is_written and at.get("again", False)

        def compose() -> sql.Composed:
            rows = headers.tid_rows(self.source, bounds, bare=bare, written=anew)
            remembering = UNWRITTEN if is_written else ROWS
            return self._effect(rows, bare=bare, births=births, full=full, first=first, memory=remembering)

        statement = self._statements.get("walk", bounds.shape, bare, full, first, births, anew, compose=compose)
        # A full pass may be over a million rows that change nothing; of those below H it needs no memory either.
        keep = here.window_horizon if full or is_written else 0
        given = {**bounds.parameters(), **piece.parameters(), "keep": keep, "past": at.get("past"), "beyond": beyond}
        return self._ask(here, statement, given, poison=poison, again=full, prepare=None if bare else True)

    def _question(
        self, what: str, here: Cursor, bounds: Bounds, make: Callable[[Source, Bounds], sql.Composed]
    ) -> Question:
        statement = self._statements.get(what, bounds.shape, compose=lambda: make(self.source, bounds))
        return Question(statement, {**bounds.parameters(), "cursor": here.cursor_id})

    def _effect(
        self,
        rows: sql.Composed,
        *,
        bare: bool,
        births: bool,
        full: bool = False,
        first: bool = False,
        memory: str = ROWS,
    ) -> sql.Composed:
        counts = handoff.NOTHING if first else handoff.unread(self.source) if full else batch.EVERY
        if bare:
            return batch.staging(rows, counts=counts, memory=memory)
        how = handoff.BORN if births else handoff.SEEN if first else None
        return handoff.applying(self.source, rows, how=how, effect=self.effect, counts=counts, memory=memory)

    def _ask(
        self,
        here: Cursor,
        statement: bytes,
        given: dict[str, Any],
        *,
        poison: OneroofError | None,
        again: bool,
        prepare: bool | None = None,
    ) -> Ask:
        who = {"worker": self.worker, "source": self.source.source_name, "cursor": here.cursor_id}
        failed = {} if poison is None else describe(poison)
        known = {"again": again, "started": here.metadata.get("started")}
        return batch.ask(self.source, statement, {**given, **who, **known, **failed}, prepare=prepare)
