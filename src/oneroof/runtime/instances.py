"""Instances: the runs for ever that live, and how many leases each of them may hold (doc 39 §39.6).

Each says once a second that it lives, in a row of its own, and learns how many others live and which leases are free.
An instance holds at most its share, the leases of a worker divided by the instances that run it, rounded up; what is
more it gives back. One not seen for a TTL counts no longer.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.database.transaction import transaction

ROLE = "oneroof_worker"


@dataclass(slots=True)
class Instances:
    """What one instance knows of the others. `key` is None for a run that ends: it takes what is free, uncounted."""

    key: str | None
    workers: list[str]
    free: frozenset[str] = field(default_factory=frozenset, init=False)
    # How often there was something to claim or to give back by what was found.
    news: int = field(default=0, init=False)
    _living: dict[str, int] = field(default_factory=dict, init=False)

    def tick(self, connection: Connection, *, ttl: float) -> None:
        """Say that this one lives, in the transaction under way; look who else does, and what is free."""
        known = self._living, self.free
        if self.key is not None:
            given = {"instance": self.key, "workers": self.workers, "ttl": ttl}
            self._living = {
                str(name): int(many) for name, many in connection.execute(queries("runtime/instances")["tick"], given)
            }
        free = connection.execute(queries("runtime/instances")["free"], {"workers": self.workers})
        self.free = frozenset(str(name) for (name,) in free)
        # What is free may be locked when it is claimed, and is then claimed again.
        if self.free or not self.news or (self._living, self.free) != known:
            self.news += 1

    def leave(self, connection: Connection) -> None:
        """This one stops."""
        if self.key is not None:
            with transaction(connection, doing="leaving the instances", role=ROLE, lock_timeout=2):
                connection.execute(queries("runtime/instances")["leave"], {"instance": self.key})

    def share(self, worker: str, *, executors: int) -> int:
        """How many of so many leases of a worker this instance may hold."""
        return share(executors, instances=self._living.get(worker, 1)) if self.key is not None else executors

    @property
    def many(self) -> int:
        """How many instances live, this one included."""
        return max(self._living.values(), default=1)

    def preference(self, source: str) -> int:
        """Which sources to take first and to give back last: each instance has an order of its own, the same for all
        workers, so that the executors of one source stay together.
        """
        return zlib.crc32(f"{self.key}/{source}".encode())


def share(executors: int, *, instances: int) -> int:
    """A fair share, rounded up: together the shares are never less than there is to hold."""
    return -(-executors // max(1, instances))
