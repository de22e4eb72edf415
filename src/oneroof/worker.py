"""What the workers of the family share: one executor on one source, and one fenced transaction per batch.

`run_once` of a worker reads as its five words: lease, read, apply, advance, tick. A batch is one transaction; a
serialization failure, a deadlock or a lock time-out runs it again whole (promise 12).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from psycopg import errors as pg

from oneroof import lease
from oneroof.db import Connection, transaction
from oneroof.errors import OneroofError
from oneroof.lease import Lease

READ_LIMIT = 5.0
ATTEMPTS = 6
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """What one call of `run_once` did."""

    seen: int
    written: int
    idle: bool


def fenced(connection: Connection, held: Lease, batch: Callable[[], T], *, doing: str) -> T:
    """Run a batch in one transaction behind the fence, as the worker's role, each statement within the limit."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction(
                connection,
                doing=doing,
                role="oneroof_worker",
                statement_timeout=READ_LIMIT,
                lock_timeout=READ_LIMIT / 2,
            ):
                for setting in (
                    "SET LOCAL timezone = 'UTC'",
                    "SET LOCAL datestyle = 'ISO'",
                    # An error where a policy would hide rows: silence would be an omission.
                    "SET LOCAL row_security = off",
                    # A zombie's locks must go before its lease runs out.
                    f"SET LOCAL idle_in_transaction_session_timeout = '{int(held.ttl * 500)}ms'",
                ):
                    connection.execute(setting)
                lease.hold(connection, held)
                return batch()
        except OneroofError as error:
            if attempt == ATTEMPTS or not _passing(error.__cause__):
                raise
            time.sleep(random.uniform(0.01, 0.05) * attempt)  # noqa: S311
    raise AssertionError("unreachable")


def _passing(cause: BaseException | None) -> bool:
    return isinstance(cause, (pg.SerializationFailure, pg.DeadlockDetected, pg.LockNotAvailable))
