"""`gov_handoff_intake`: every change of every source, for ever after its first sweep (doc 32 §5, doc 39 §39.5).

Two lanes. The fast lane reads the newest rows by timestamp and remembers each in the open set. The frontier lane is
what completeness rests on: a window [F, H) over the whole table by row headers, without what the fast lane remembered;
at its end F := H. While a window is open the fast lane keeps to what is at or above H, so no version is ever both
lanes' business, and each is applied and counted once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from psycopg import sql

from oneroof import cursor, tail
from oneroof.candidate import NO_RULESET
from oneroof.cursor import Cursor, Horizon
from oneroof.db import Connection, one, queries
from oneroof.lease import Lease
from oneroof.source import INVENTORY, Source
from oneroof.tail import Bounds
from oneroof.worker import Step, fenced

NAME = "gov_handoff_intake"
BATCH = 5_000
SWEEP_INTERVAL = 10.0
# A gigabyte of row headers is read in well under five seconds.
MOST_BLOCKS = 131_072
OVERLAP = "5 seconds"


@dataclass(slots=True)
class HandoffIntake:
    """The intake of one source by one instance. `sweep_interval` is how long the frontier may rest."""

    connection: Connection
    source: Source
    lease: Lease
    batch: int = BATCH
    sweep_interval: float = SWEEP_INTERVAL
    statement: str | None = None
    windows_closed: int = field(default=0, init=False)
    horizon_pinned: bool = field(default=False, init=False)
    _blocks: int = field(default=MOST_BLOCKS, init=False)

    def run_once(self) -> Step:
        """The newest rows, and a piece of the frontier's window if one is open or due."""
        return fenced(self.connection, self.lease, self._next, doing=f"tailing {self.source.source_name}")

    def _next(self) -> Step:
        here = cursor.read(self.connection, worker=NAME, source=self.source.source_name)
        horizon = cursor.read_horizon(self.connection)
        if here.frontier is None and here.window_horizon is None:
            return self._start(here, horizon)
        if here.cluster_identity != horizon.identity:
            cursor.open_window(self.connection, here, horizon, phase="reconciling")
            return Step(seen=0, written=0, idle=False)
        fast = self._fast(here)
        if here.window_horizon is not None:
            slow = self._frontier(here, here.window_horizon)
            return Step(seen=fast.seen + slow.seen, written=fast.written + slow.written, idle=False)
        if fast.seen == 0 and self._due(here, horizon):
            cursor.open_window(self.connection, here, horizon, phase="incremental")
            return Step(seen=0, written=0, idle=False)
        return fast

    def _start(self, here: Cursor, horizon: Horizon) -> Step:
        """An inventory goes on from where its first sweep closed; a change log starts now."""
        begin = horizon.xid
        if self.source.source_kind == INVENTORY:
            swept = self.connection.execute(
                queries("cursor")["backfilled"], {"source": self.source.source_name}
            ).fetchone()
            if swept is None:
                return Step(seen=0, written=0, idle=True)
            begin = swept[0]
        cursor.start(self.connection, here, frontier=begin, identity=horizon.identity)
        return Step(seen=0, written=0, idle=False)

    def _fast(self, here: Cursor) -> Step:
        bounds = Bounds(frontier=here.window_horizon or here.frontier, horizon=None)
        rows = tail.fast_batch(self.source, bounds)
        if rows is None or bounds.frontier is None:
            return Step(seen=0, written=0, idle=True)
        (since,) = one(self.connection, queries("cursor")["since"], {**self._who(), "overlap": OVERLAP})
        return self._apply(here, rows, {**bounds.parameters(), "since": since, "remember": True}, at=here.window_at)

    def _frontier(self, here: Cursor, horizon: int) -> Step:
        """The next range of blocks; narrower where it holds more than a batch, closed at the end of the table."""
        bounds = Bounds(frontier=here.frontier, horizon=horizon)
        first = int((here.window_at or {"block": 0})["block"])
        name = self.source.table.as_string(self.connection)
        (total,) = one(self.connection, queries("cursor")["blocks"], {"relation": name})
        if first >= total:
            cursor.close_window(self.connection, here, phase="incremental")
            self.windows_closed += 1
            return Step(seen=0, written=0, idle=False)
        parameters = {**bounds.parameters(), "first": first, "last": min(first + self._blocks, total)}
        (count,) = one_of(self.connection, tail.block_count(self.source, bounds), parameters)
        while count > self.batch and parameters["last"] - first > 1:
            self._blocks = max(1, (parameters["last"] - first) * self.batch // (2 * count))
            parameters["last"] = min(first + self._blocks, total)
            (count,) = one_of(self.connection, tail.block_count(self.source, bounds), parameters)
        if count <= self.batch // 4:
            self._blocks = min(MOST_BLOCKS, self._blocks * 4)
        at = {"block": parameters["last"]}
        if count == 0:
            cursor.advance(self.connection, here, at=at, seen=0, watermark=None, summary={})
            return Step(seen=0, written=0, idle=False)
        rows = tail.block_batch(self.source, bounds)
        # A single block can hold more rows than a batch of them, but never more than these.
        return self._apply(here, rows, {**parameters, "remember": False, "batch": max(self.batch, count)}, at=at)

    def _apply(
        self, here: Cursor, rows: sql.Composed, parameters: dict[str, Any], *, at: dict[str, Any] | None
    ) -> Step:
        statement = sql.SQL(self.statement or queries("intake")[self.source.source_kind]).format(rows=rows)
        given = {"batch": self.batch, "ruleset": NO_RULESET, **parameters, **self._who()}
        read, written, mark_ts, mark_key = one_of(self.connection, statement, given)
        if read:
            watermark = None if mark_ts is None else (mark_ts, mark_key)
            summary = {"rows_seen": read, "dirty_marked": written}
            cursor.advance(self.connection, here, at=at, seen=read, watermark=watermark, summary=summary)
        elif at != here.window_at:
            cursor.advance(self.connection, here, at=at, seen=0, watermark=None, summary={})
        return Step(seen=read, written=written, idle=read == 0)

    def _due(self, here: Cursor, horizon: Horizon) -> bool:
        self.horizon_pinned = here.frontier is not None and here.frontier >= horizon.xid
        if self.horizon_pinned:
            return False
        (rested,) = one(self.connection, queries("cursor")["rested"], self._who())
        return float(rested) >= self.sweep_interval

    def _who(self) -> dict[str, Any]:
        return {"worker": NAME, "source": self.source.source_name}


def one_of(connection: Connection, statement: sql.Composed, parameters: dict[str, Any]) -> tuple[Any, ...]:
    """The only row of a composed statement that always has one."""
    row = connection.execute(statement, parameters).fetchone()
    assert row is not None
    return row
