"""Policies: how each worker may behave, and whether it is paused (doc 31 §11, doc 39 §39.6 and §39.7).

They are rows of the database, so they hold for every process that runs the worker, and an operator changes them while
it runs. What is a value the table's own CHECKs decide; every change leaves an audit row.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, time
from difflib import get_close_matches

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError, Usage

OPERATOR = "oneroof_operator"


@dataclass(frozen=True, slots=True)
class Policy:
    """A row of `governance_worker_policy`, with intervals in seconds."""

    worker_name: str
    paused_at: datetime | None
    paused_by: str | None
    batch_size: int
    rows_per_second: int | None
    off_peak_from: time | None
    off_peak_to: time | None
    sweep_interval: float
    lease_ttl: float
    attempts: int
    backoff_first: float
    backoff_most: float
    dlq_limit: int
    lag_limit: float
    lock_wait_limit: int
    replication_lag_limit: int
    error_limit: float
    coalesce_window: float
    digest_after: int
    digest_interval: float
    heartbeat_interval: float
    storm_share: float
    storm_changes: int

    @property
    def is_paused(self) -> bool:
        return self.paused_at is not None

    def in_window(self, now: time) -> bool:
        """May it work at this time of day, UTC? The window may span midnight; without one, or a whole day, always."""
        begin, end = self.off_peak_from, self.off_peak_to
        if begin is None or end is None or begin == end:
            return True
        if begin < end:
            return begin <= now < end
        return now >= begin or now < end


NAMES = tuple(field.name for field in fields(Policy) if field.name not in ("worker_name", "paused_at", "paused_by"))


def read(connection: Connection) -> dict[str, Policy]:
    """Every policy by its worker's name."""
    with (
        transaction(connection, doing="reading the policies"),
        connection.cursor(row_factory=class_row(Policy)) as cursor,
    ):
        found = cursor.execute(queries("runtime/policy")["read"]).fetchall()
    return {policy.worker_name: policy for policy in found}


def set_values(connection: Connection, worker: str, values: dict[str, str]) -> bool:
    """Set some values, all or none, from their text; an empty text takes a limit away. False if nothing changed."""
    for name in values:
        if name not in NAMES:
            near = get_close_matches(name, NAMES, n=1)
            meant = f"did you mean {near[0]}?" if near else f"names: {', '.join(NAMES)}"
            raise Usage(f"a policy has no {name!r} that could be set", hint=meant)
    parameters = {"worker": worker, "values": Jsonb({name: text or None for name, text in values.items()})}
    try:
        with transaction(connection, doing=f"setting the policy of {worker}", role=OPERATOR, lock_timeout=5):
            (changed,) = one(connection, queries("runtime/policy")["set"], parameters)
    except OneroofError as error:
        if isinstance(error.__cause__, psycopg.DataError):
            raise Usage(error.__cause__.diag.message_primary or str(error), hint="oneroof policy list") from error
        raise
    return bool(changed)


def pause(connection: Connection, worker: str) -> bool:
    """Let no process work on it until it is resumed; False if it was paused."""
    return _pause(connection, worker, paused=True)


def resume(connection: Connection, worker: str) -> bool:
    """Let it go on from where it stands; False if it was not paused."""
    return _pause(connection, worker, paused=False)


def _pause(connection: Connection, worker: str, *, paused: bool) -> bool:
    doing = f"{'pausing' if paused else 'resuming'} {worker}"
    with transaction(connection, doing=doing, role=OPERATOR, lock_timeout=5):
        (changed,) = one(connection, queries("runtime/policy")["pause"], {"worker": worker, "paused": paused})
    return bool(changed)
