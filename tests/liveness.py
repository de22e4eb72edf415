"""A worker played by a test: a cursor row, a lease and ticks, on a clock that the test sets."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from bed import stop_clock
from oneroof.database.connection import Connection
from oneroof.reads import status
from oneroof.reads.status import WorkerStatus

WORKER = "gov_candidate_scan"


@dataclass
class Actor:
    """One worker on one source. The clock stands where it was set, so a slow machine changes nothing."""

    admin: Connection
    source: str = "birth_registry"
    worker: str = WORKER
    owner: str = "a/1"

    @property
    def executor(self) -> str:
        return f"{self.worker}:{self.source}"

    def begin(self, **columns: object) -> None:
        """Make the cursor at second 0, with a frontier that nothing pins unless said otherwise."""
        self.at(0)
        given: dict[str, object] = {"phase": "incremental", "frontier": "100", **columns}
        names = sql.SQL(", ").join(map(sql.Identifier, given))
        values = sql.SQL(", ").join(map(sql.Literal, given.values()))
        self.admin.execute(
            sql.SQL(
                "INSERT INTO oneroof.gov_worker_cursor (worker_name, source_name, frontier_at, updated_at, {})"
                " VALUES (%s, %s, oneroof.gov_now(), oneroof.gov_now(), {})"
            ).format(names, values),
            (self.worker, self.source),
        )

    def at(self, seconds: float) -> None:
        stop_clock(self.admin, seconds=seconds)

    def claim(self) -> bool:
        row = self.admin.execute(
            "SELECT oneroof.gov_lease_claim(ARRAY[%s], ARRAY[%s], interval '30 seconds')", (self.executor, self.owner)
        ).fetchone()
        return row == ([self.executor],)

    def tick(self) -> None:
        self.admin.execute(
            "SELECT oneroof.gov_lease_hold(%s::text, %s::text, 'ok'::text, '0'::interval)", (self.executor, self.owner)
        )

    def work(self, statement: str = "last_run_at = oneroof.gov_now()") -> None:
        """Change its cursor, as a batch does."""
        self.admin.execute(
            f"UPDATE oneroof.gov_worker_cursor SET {statement} WHERE worker_name = %s AND source_name = %s",
            (self.worker, self.source),
        )

    def seen(self) -> WorkerStatus:
        """How the views see it."""
        (found,) = [
            row
            for row in status.read(self.admin).workers
            if (row.worker_name, row.source_name) == (self.worker, self.source)
        ]
        return found
