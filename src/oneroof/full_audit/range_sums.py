"""What a range of pages adds up to, in a source and among the candidates, for the audit (doc 31 §9).

Adding up is work for a processor, so that a longer range is read by two connections, a half of it each; what both have
found is written by the first alone, in the transaction of its step. Without a second connection the first reads both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg.rows import TupleRow

from oneroof.database.connection import Connection
from oneroof.database.parallel_reader import ParallelReader
from oneroof.database.statements import one, queries
from oneroof.full_audit import comparison
from oneroof.full_audit.comparison import Piece
from oneroof.proof.snapshot_reader import SETTINGS
from oneroof.sources.source import Source
from oneroof.tail.row_queries import SLOTS

# A range of fewer pages is not worth a connection.
LONG = 1_024
# What is found of each half, a list for each column.
ROWS = ("facts", "many", "totals", "newest")
CANDIDATES = ("facts", "groups", "grains", "verdicts", "reasons", "suspects", "many", "totals")


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of one source; `second` reads along."""

    connection: Connection
    source: Source
    second: ParallelReader | None = None

    def add_rows(self, piece: Piece, *, end: int) -> None:
        """Add the rows of a range to their sets of facts; the table is known to end there."""
        reading = comparison.summing_rows(self.source).as_bytes(None)
        self.connection.execute(comparison.adding_rows(), self._sums(reading, piece, end, ROWS))

    def add_candidates(self, piece: Piece, *, end: int) -> list[int]:
        """Add the candidates of a range to theirs and to the recount; the facts that some may have no verdict of."""
        reading = comparison.summing_candidates().as_bytes(None)
        given = self._sums(reading, piece, end, CANDIDATES)
        return list(one(self.connection, queries("full_audit/range_sums")["candidates"], given)[0])

    def _sums(self, reading: bytes, piece: Piece, end: int, names: tuple[str, ...]) -> dict[str, Any]:
        found = self._read(reading, piece, end)
        lists = {
            f"{name}_{half}": said for half, row in enumerate(found) for name, said in zip(names, row, strict=True)
        }
        return self._given(**{f"{name}_{half}": None for name in names for half in (0, 1)} | lists)

    def _read(self, reading: bytes, piece: Piece, end: int) -> list[TupleRow]:
        if self.second is None or min(piece.last, end) - piece.first < LONG * SLOTS:
            return [self._ask(self.connection, reading, piece)]
        return self.second.read(
            self.connection,
            lambda connection, half: self._ask(connection, reading, half),
            piece.halves(end),
            doing=f"auditing {self.source.source_name}",
            settings=SETTINGS,
        )

    def _ask(self, connection: Connection, reading: bytes, piece: Piece) -> TupleRow:
        row = connection.execute(reading, self._given(**piece.given)).fetchone()
        assert row is not None
        return row

    def _given(self, **given: Any) -> dict[str, Any]:
        return {"scope": self.source.source_name, **given}
