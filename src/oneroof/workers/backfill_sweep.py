"""`gov_backfill_sweep`: an inventory from its beginning, once (doc 31 §4, doc 39 §39.5).

H is fixed at the start; batches go by keyset from the beginning, the rows without a timestamp last; after a crash the
sweep goes on from the committed position, and F := H at its end. Rows born meanwhile belong to whoever tails from F.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from psycopg import errors as pg

from oneroof import candidate, cursor, tail
from oneroof.candidate import Applied
from oneroof.cursor import Cursor
from oneroof.db import Connection
from oneroof.errors import OneroofError
from oneroof.lease import Lease
from oneroof.source import Source
from oneroof.tail import DATED, UNDATED, Bounds
from oneroof.worker import Step, fenced

NAME = "gov_backfill_sweep"
BATCH = 5_000
# After so many batches in a row that met a known key, upserts are the rule.
PATIENCE = 3


@dataclass(slots=True)
class BackfillSweep:
    """The sweep of one source by one instance."""

    connection: Connection
    source: Source
    lease: Lease
    batch: int = BATCH
    _known_keys: int = field(default=0, init=False)

    def run_once(self) -> Step:
        """One batch, or the opening or closing of the window; idle once the sweep is done."""
        doing = f"sweeping {self.source.source_name}"
        if self._known_keys < PATIENCE:
            try:
                step = fenced(self.connection, self.lease, lambda: self._next(candidate.insert), doing=doing)
            except OneroofError as error:
                if not isinstance(error.__cause__, pg.UniqueViolation):
                    raise
                self._known_keys += 1
            else:
                self._known_keys = 0
                return step
        return fenced(self.connection, self.lease, lambda: self._next(candidate.upsert), doing=doing)

    def _next(self, apply: Any) -> Step:
        here = cursor.read(self.connection, worker=NAME, source=self.source.source_name)
        horizon = cursor.read_horizon(self.connection)
        moved = here.cluster_identity not in (None, horizon.identity)
        if moved or (here.window_horizon is None and here.frontier is None):
            cursor.open_window(self.connection, here, horizon, phase="seeding")
            return Step(seen=0, written=0, idle=False)
        if here.window_horizon is None:
            return Step(seen=0, written=0, idle=True)
        part, after = self._position(here)
        # Without an upper bound: an old transaction somewhere delays the counting and the proof, never the work.
        bounds = Bounds(frontier=None, horizon=None)
        rows = tail.keyset_batch(self.source, bounds, part=part, after=bool(after))
        parameters = {**bounds.parameters(), "batch": self.batch, "below": here.window_horizon}
        parameters |= {f"after_{i}": value for i, value in enumerate(after)}
        done: Applied = apply(self.connection, self.source, rows, parameters)
        if done.read == self.batch:
            self._advance(here, done, at={"part": part, "after": self._after(part, done)})
        elif part == DATED:
            self._advance(here, done, at={"part": UNDATED, "after": []})
        else:
            self._advance(here, done, at={"part": UNDATED, "after": after})
            cursor.close_window(self.connection, here, phase="incremental")
        return Step(seen=done.read, written=done.written, idle=False)

    def _position(self, here: Cursor) -> tuple[str, list[str]]:
        first = UNDATED if self.source.timestamp_column is None else DATED
        at = here.window_at or {"part": first, "after": []}
        return at["part"], at["after"]

    def _after(self, part: str, done: Applied) -> list[str | None]:
        assert done.last_key is not None
        single = len(self.source.key_columns) == 1
        keys: list[str | None] = [done.last_key] if single else [str(k) for k in json.loads(done.last_key)]
        return [done.last_ts, *keys] if part == DATED else keys

    def _advance(self, here: Cursor, done: Applied, *, at: dict[str, Any]) -> None:
        known = done.mark_ts is not None and done.mark_key is not None
        watermark = (str(done.mark_ts), str(done.mark_key)) if known else None
        summary = {"scanned": here.events_seen + done.counted, "written": done.written}
        cursor.advance(self.connection, here, at=at, seen=done.counted, watermark=watermark, summary=summary)
