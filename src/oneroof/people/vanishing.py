"""Groups of which too much vanished at once: held by the audit until two people let it go (doc 31 §7, promise 21)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.database.transaction import transaction
from oneroof.errors import Refused
from oneroof.people import requests

KIND = "vanishing.allow"


@dataclass(frozen=True, slots=True)
class Vanishing:
    """A group with vanished objects that are held, or that two people have let go and the next audit retires."""

    source_name: str
    group_key: str
    held: int
    members: int
    held_at: datetime
    request_id: int | None
    allowed: int | None
    allowed_at: datetime | None


def listing(connection: Connection, *, limit: int = 500) -> list[Vanishing]:
    """The groups, the longest held first."""
    with (
        transaction(connection, doing="listing vanished groups", read_only=True),
        connection.cursor(row_factory=class_row(Vanishing)) as cursor,
    ):
        return cursor.execute(queries("people/vanishing")["listing"], {"limit": limit, "group": None}).fetchall()


def request(connection: Connection, group_key: str, *, reason: str) -> int:
    """Ask to let as many objects of a group go as are held now."""
    with (
        transaction(connection, doing="looking for a vanished group", read_only=True),
        connection.cursor(row_factory=class_row(Vanishing)) as cursor,
    ):
        found = cursor.execute(queries("people/vanishing")["listing"], {"limit": 2, "group": group_key}).fetchall()
    if not found:
        raise Refused(f"nothing of a group {group_key!r} is held", hint="oneroof vanishing list")
    content = {"source_name": found[0].source_name, "held": found[0].held}
    return requests.request(connection, kind=KIND, subject=group_key, content=content, reason=reason)
