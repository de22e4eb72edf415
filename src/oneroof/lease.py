"""Leases and ticks on the host's `queue_heartbeat` (doc 39 §39.6): one writer per worker and source.

An executor is `worker[:source]`. Each claim is a new term with an owner word of its own, so a ghost of an earlier
term renews nothing. Only the server's clock counts. The fence is `hold`: every batch's transaction calls it first and
keeps its row lock to the end, so whoever lost the lease commits nothing (promises 7 and 8).
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import psycopg

from oneroof.db import Connection, one, queries, transaction
from oneroof.errors import HeldElsewhere

TTL = 30.0
LOST = "GV409"


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


def hold(connection: Connection, lease: Lease, *, status: str = "ok") -> None:
    """The fence: inside a transaction, before its work; raises if the lease is not ours any more."""
    try:
        connection.execute(
            queries("lease")["hold"], {"executor": lease.executor, "owner": lease.owner, "status": status}
        )
    except psycopg.Error as error:
        if error.sqlstate == LOST:
            raise HeldElsewhere(
                f"the lease of {lease.executor} was lost", hint="another instance has taken over"
            ) from None
        raise


def release(connection: Connection, lease: Lease) -> bool:
    """Give the lease back; False if it was not ours any more."""
    with transaction(connection, doing=f"releasing {lease.executor}", role="oneroof_worker", lock_timeout=5):
        (ours,) = one(connection, queries("lease")["release"], {"executor": lease.executor, "owner": lease.owner})
    return bool(ours)
