"""Leases and ticks on the host's `queue_heartbeat` (doc 39 §39.6): one writer per worker and source.

An executor is `worker[:source]`. Each claim is a new term with an owner word of its own, so a ghost of an earlier
term renews nothing. Only the server's clock counts. The fence is a statement that every batch's transaction
begins with; it keeps its row lock to the end, so a process that lost the lease commits nothing (promises 7 and 8).
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from functools import lru_cache

from psycopg import sql

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import HeldElsewhere

TTL = 30.0
# For so long a tick is fresh, but for no more than a quarter of the TTL.
FRESH = 1.0
# Seconds for which a claim waits for a lease whose row is locked, and between two tries: without the first, the heir of
# a process that was killed is refused until the server has ended its last batch.
LOCKED, PAUSE = 5.0, 0.02


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
    """Take the lease, or say who has it. The last batch of a process that was killed may keep the lease locked until
    the server notices, so it is waited for.
    """
    until = time.monotonic() + LOCKED
    while True:
        had, held = claim_many(connection, [executor], instance=instance, ttl=ttl)
        if had:
            return had[executor]
        if time.monotonic() > until or not _is_stale(connection, executor, ttl=ttl):
            raise HeldElsewhere(held[executor], hint="wait for it to end, or for its lease to run out")
        time.sleep(PAUSE)


def _is_stale(connection: Connection, executor: str, *, ttl: float) -> bool:
    """Whether it could be claimed if its row were not locked."""
    held = connection.execute(queries("fence/lease")["holders"], {"executors": [executor]}).fetchall()
    return all(not owner or ago > ttl for _, owner, ago in held)


def claim_many(
    connection: Connection, executors: list[str], *, instance: str, ttl: float = TTL
) -> tuple[dict[str, Lease], dict[str, str]]:
    """Take those that are free, in one transaction; the leases that were had, and of the others who holds them."""
    wanted = {name: Lease(executor=name, owner=f"{instance}/{uuid.uuid4()}", ttl=ttl) for name in executors}
    given = {"executors": executors, "owners": [each.owner for each in wanted.values()], "ttl": ttl}
    doing = f"claiming {executors[0]}" if len(executors) == 1 else f"claiming {len(executors)} leases"
    with transaction(connection, doing=doing, role="oneroof_worker", lock_timeout=5):
        (had,) = one(connection, queries("fence/lease")["claim"], given)
        missed = sorted(set(executors).difference(had))
        holders = (
            connection.execute(queries("fence/lease")["holders"], {"executors": missed}).fetchall() if missed else []
        )
    held = {name: f"{name} is in use at this moment" for name in missed}
    held |= {name: f"{name} is held by {owner}, which ticked {ago:.0f} s ago" for name, owner, ago in holders if owner}
    return {name: wanted[name] for name in had}, held


def tick_many(connection: Connection, leases: list[Lease], *, statuses: list[str]) -> set[str]:
    """Tick leases that are not being worked on, in one transaction; the executors whose lease still is ours."""
    given = {"executors": [each.executor for each in leases], "owners": [each.owner for each in leases]}
    with transaction(connection, doing=f"ticking {len(leases)} lease(s)", role="oneroof_worker", lock_timeout=2):
        (ours,) = one(connection, queries("fence/lease")["tick"], {**given, "statuses": statuses})
    return set(ours)


def release(connection: Connection, lease: Lease) -> bool:
    """Give the lease back; False if it was not ours any more."""
    return lease.executor in release_many(connection, [lease])


def release_many(connection: Connection, leases: list[Lease]) -> set[str]:
    """Give leases back, in one transaction; the executors whose lease still was ours."""
    given = {"executors": [each.executor for each in leases], "owners": [each.owner for each in leases]}
    with transaction(connection, doing=f"releasing {len(leases)} lease(s)", role="oneroof_worker", lock_timeout=5):
        (ours,) = one(connection, queries("fence/lease")["release"], given)
    return set(ours)


@lru_cache(maxsize=10_000)
def fence(lease: Lease, *, status: str = "ok") -> bytes:
    """What a transaction has to say first; it fails as held elsewhere if the lease is not ours."""
    hold = sql.SQL(queries("fence/lease")["hold"])
    fresh = f"{min(FRESH, lease.ttl / 4)} seconds"
    return hold.format(executor=lease.executor, owner=lease.owner, status=status, fresh=fresh).as_bytes(None)
