"""Exceptions: what need not be covered, for how long and why; each counts only when another person has ratified it.

Adding one makes a request of kind `exception.ratify`, which is decided like any other; taking one back needs one
person. Until it is ratified, and after it has expired, the object is judged as if there were none.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError, Refused, Usage

STATES = ("ratified", "unratified", "expired", "revoked")
STANDING = STATES[:2]


@dataclass(frozen=True, slots=True)
class Exemption:
    """An exception, who asked for it, and whether it counts."""

    exception_id: int
    level: str
    subject: str
    state: str
    reason: str
    valid_from: datetime
    valid_to: datetime | None
    requested_by: str
    requested_at: datetime
    request_id: int | None
    ratified_by: str | None
    ratified_at: datetime | None
    revoked_by: str | None
    revoked_at: datetime | None


def add(connection: Connection, level: str, subject: str, *, reason: str, until: datetime | None = None) -> Exemption:
    """Ask for an exception; the same again while it waits is one."""
    try:
        with transaction(connection, doing=f"adding an exception for {level} {subject}", lock_timeout=5):
            (made,) = one(
                connection,
                queries("people/coverage_exceptions")["add"],
                {"level": level, "subject": subject, "reason": reason, "until": until},
            )
    except OneroofError as error:
        if isinstance(error.__cause__, psycopg.DataError):
            raise Usage(error.__cause__.diag.message_primary or str(error), hint=error.hint) from error
        raise
    return find(connection, made)


def revoke(connection: Connection, exception_id: int) -> bool:
    """Take an exception back; False if it counted no longer."""
    with transaction(connection, doing=f"revoking exception {exception_id}", lock_timeout=5):
        (changed,) = one(connection, queries("people/coverage_exceptions")["revoke"], {"exception": exception_id})
    return bool(changed)


def find(connection: Connection, exception_id: int) -> Exemption:
    """One exception, whatever its state."""
    for found in listing(connection, states=STATES, exception_id=exception_id):
        return found
    raise Refused(f"there is no exception {exception_id}", hint="oneroof exceptions list --all")


def listing(
    connection: Connection,
    *,
    states: tuple[str, ...] = STANDING,
    exception_id: int | None = None,
    limit: int = 500,
) -> list[Exemption]:
    """Exceptions, the newest first."""
    with (
        transaction(connection, doing="listing exceptions", read_only=True),
        connection.cursor(row_factory=class_row(Exemption)) as cursor,
    ):
        parameters = {"states": list(states), "exception": exception_id, "limit": limit}
        return cursor.execute(queries("people/coverage_exceptions")["listing"], parameters).fetchall()
