"""Looks: which of many quiet sources may have work for a worker, in one statement.

A look is a question to the database that costs one transaction for all sources of a worker thread. The intake's goes
by the server's counters of writes, which come late and may be lost: they only make an assignment due earlier. The
others go by what waits in our own tables, and are exact.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.database.transaction import transaction
from oneroof.fence.fenced_batch import READ_LIMIT
from oneroof.findings import counting
from oneroof.runtime.assignment import NEVER, Assignment
from oneroof.workers import candidate_scan, handoff_intake, periodic_full_audit
from oneroof.workers.candidate_scan import Refresh

# Seconds between two looks: at first, and at the most when all has been quiet for long; the intake's always the first.
# Without the second, looks cost most of what an idle process costs.
LOOK, LONGEST_LOOK = 1.0, 4.0
# Seconds in which a follower gathers what the intake brings, in a run without an end: without it, the followers of a
# busy source take its processor.
GATHER = 0.25
# A look may take one part in so many of the time: without it, a run until idle would do little else.
SHARE = 20


@dataclass(slots=True)
class Looks:
    """The looks of one worker thread: `kind` is the name of its worker or part, `due` the time of the next look."""

    kind: str
    endless: bool
    due: float = field(default=0.0, init=False)
    refresh: Refresh = field(default_factory=Refresh, init=False)
    _looked: float = field(default=float("-inf"), init=False)
    _seconds: float = field(default=0.0, init=False)
    _news: float = field(default_factory=time.monotonic, init=False)
    # When the books were last looked at, and the oldest transaction then.
    _moved_at: float = field(default=float("-inf"), init=False)
    _since: str | None = field(default=None, init=False)

    def hasten(self) -> None:
        """Something was done for a source: look soon. Called from any thread."""
        now = time.monotonic()
        self._news = now
        gather = GATHER if self.endless else 0.0
        self.due = min(self.due, max(now, self._looked + max(gather, SHARE * self._seconds)))

    def look(self, connection: Connection, quiet: list[Assignment], *, writes: int, interval: float) -> None:
        """One look at all of these: those it names are due, the others are idle since so many writes of this run."""
        began = time.monotonic()
        named = self._named(connection, quiet, interval=interval)
        self._looked = time.monotonic()
        self._seconds = self._looked - began
        if "" in named or (self.kind == candidate_scan.NAME and self._is_refresh_due(interval)):
            # What any of them can do.
            quiet[0].wake(self._looked)
        for each in quiet:
            if each.duty.scope in named:
                each.name(self._looked)
            elif each.is_quiet and not each.duty.is_own_channel:
                each.idle_since = writes
        if named:
            self._news = self._looked
        longest = LOOK if self.kind == handoff_intake.NAME else LONGEST_LOOK
        pause = min(longest, max(LOOK, (self._looked - self._news) / 10)) if self.endless else 0.0
        self.due = self._looked + max(pause, SHARE * self._seconds)

    def _is_refresh_due(self, interval: float) -> bool:
        """In a run that ends classes are looked at once."""
        return self.refresh.is_due(interval if self.endless else NEVER)

    def begin(self, connection: Connection, fresh: list[Assignment]) -> None:
        """Leases were had. Of the intake's note how many writes the server has counted: what is written from here on is
        news. A scan's findings may not have been counted by the one who held it before.
        """
        self._since, self._moved_at = None, float("-inf")
        if self.kind == handoff_intake.NAME:
            self._named(connection, fresh, interval=0.0)

    def _named(self, connection: Connection, quiet: list[Assignment], *, interval: float) -> set[str]:
        """The scopes, of these, for which work may wait. The empty one stands for marks of groups."""
        doing = f"looking for work of {self.kind}"
        with transaction(connection, doing=doing, role="oneroof_worker", read_only=True, statement_timeout=READ_LIMIT):
            if self.kind == handoff_intake.NAME:
                return self._written(connection, quiet)
            given = {"names": [each.duty.scope for each in quiet], "interval": interval}
            found = connection.execute(queries("runtime/looks")[self.kind.removeprefix("gov_")], given)
            named = {str(name) for (name,) in found}
            is_due = self._since is None or (self.endless and time.monotonic() - self._moved_at >= interval)
            if self.kind == candidate_scan.NAME and is_due:
                named |= self._moved(connection)
            return named

    def _written(self, connection: Connection, quiet: list[Assignment]) -> set[str]:
        known = {each.duty.scope: each for each in quiet}
        given = {"names": list(known), "known": [each.counted for each in quiet]}
        found = connection.execute(queries("runtime/looks")["handoff_intake"], given).fetchall()
        for name, written in found:
            known[name].counted = written
        return {str(name) for name, _ in found}

    def _moved(self, connection: Connection) -> set[str]:
        """Sources whose books have moved since the last time that this was asked: a scan counts their findings."""
        since, self._since, self._moved_at = self._since, counting.horizon(connection), time.monotonic()
        asked = "uncounted" if since is None else "moved"
        return {str(name) for (name,) in connection.execute(queries("runtime/looks")[asked], {"since": since})}


def begins_quiet(kind: str, *, named: bool) -> bool:
    """Whether a new assignment waits for the first look: not the intake, which has to make a frontier pass of its own,
    nor an audit that was asked for.
    """
    return kind != handoff_intake.NAME and not (kind == periodic_full_audit.NAME and named)
