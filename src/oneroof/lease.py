"""Leases and ticks on the host's `queue_heartbeat` (doc 39 §39.6): one writer per worker and source.

An executor is `worker[:source]`. Each claim is a new term with an owner word of its own, so a ghost of an earlier
term renews nothing. Only the server's clock counts. The fence is a statement that every batch's transaction
begins with; it keeps its row lock to the end, so whoever lost the lease commits nothing (promises 7 and 8).
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import lru_cache

from psycopg import sql

from oneroof.connection import Connection
from oneroof.errors import HeldElsewhere
from oneroof.statements import one, queries
from oneroof.transaction import transaction

TTL = 30.0
# For so long a tick is fresh, but for no more than a quarter of the TTL.
FRESH = 1.0


@dataclass(frozen=True, slots=True)
class Lease:
    """One term of one executor."""

    executor: str
    owner: str
    ttl: float


def executor_name(worker: str, source: str | None) -> str:
    """The name under which a worker ticks for a source."""
    return worker if source is None else f"{worker}:{source}"


def claim(connection: Connection, executor: str, *, instance: str, ttl: float = TTL) -> Lease:
    """Take the lease, or say who has it."""
    lease = Lease(executor=executor, owner=f"{instance}/{uuid.uuid4()}", ttl=ttl)
    with transaction(connection, doing=f"claiming {executor}", role="oneroof_worker", lock_timeout=5):
        parameters = {"executor": executor, "owner": lease.owner, "ttl": ttl}
        (had,) = one(connection, queries("lease")["claim"], parameters)
        if not had:
            holder = one(connection, queries("lease")["holder"], {"executor": executor})
    if not had:
        raise HeldElsewhere(
            f"{executor} is held by {holder[0]}, which ticked {holder[1]:.0f} s ago",
            hint="wait for it to end, or for its lease to run out",
        )
    return lease


@lru_cache(maxsize=200)
def fence(lease: Lease, *, status: str = "ok") -> bytes:
    """What a transaction has to say first; it fails as held elsewhere if the lease is not ours."""
    hold = sql.SQL(queries("lease")["hold"])
    fresh = f"{min(FRESH, lease.ttl / 4)} seconds"
    return hold.format(executor=lease.executor, owner=lease.owner, status=status, fresh=fresh).as_bytes(None)


def release(connection: Connection, lease: Lease) -> bool:
    """Give the lease back; False if it was not ours any more."""
    with transaction(connection, doing=f"releasing {lease.executor}", role="oneroof_worker", lock_timeout=5):
        (ours,) = one(connection, queries("lease")["release"], {"executor": lease.executor, "owner": lease.owner})
    return bool(ours)
