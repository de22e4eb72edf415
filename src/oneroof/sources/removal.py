"""What becomes of the objects of a source that was removed, if that is wanted: they are gone with it, and retired as
tombstones, some at a time (doc 31 §7). The place is kept in `governance_source_removed`: the same command, and every
look of the watch, goes on from there, so that a command that was killed leaves nothing half done for long.
"""

from __future__ import annotations

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction

BATCH = 5_000


def count(connection: Connection, name: str) -> int:
    """How many objects a source has, by its books."""
    with transaction(connection, doing=f"counting the objects of {name}", read_only=True):
        return int(one(connection, queries("sources/removal")["objects"], {"name": name})[0])


def is_left(connection: Connection, name: str) -> bool:
    """Whether this was a source whose objects are not all retired: they were left as they are, or some are left."""
    with transaction(connection, doing=f"looking for what is left of {name}", read_only=True):
        return bool(one(connection, queries("sources/removal")["is_left"], {"name": name})[0])


def go_on(connection: Connection, *, most: int = BATCH) -> int | None:
    """Retire some more of what waits for it, of whatever source; how many, or None if nothing waits."""
    with transaction(connection, doing="looking for removed sources", role="oneroof_worker", read_only=True):
        waiting = connection.execute(queries("sources/removal")["unburied"]).fetchone()
    return None if waiting is None else bury(connection, str(waiting[0]), most=most)


def bury(connection: Connection, name: str, *, most: int = BATCH) -> int | None:
    """Retire some more objects of one removed source; how many, or None if it is over or another session is at it."""
    doing = f"retiring the objects of {name}"
    with transaction(connection, doing=doing, role="oneroof_worker", statement_timeout=5, lock_timeout=2):
        buried, is_over = one(connection, queries("sources/removal")["bury"], {"name": name, "most": most})
    return None if is_over else int(buried)
