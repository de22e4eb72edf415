"""People: who is behind which login, and what they may do (doc 41 §41.6; promise 21).

The first two approvers are registered by the installer; after that every change is a request that another person
approves. Which of the two applies is decided in the database.
"""

from __future__ import annotations

from typing import Any

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import Refused
from oneroof.people import requests
from oneroof.people.records import Person

KIND = "person.change"


def listing(connection: Connection) -> list[Person]:
    """All registered people."""
    with (
        transaction(connection, doing="listing people", read_only=True),
        connection.cursor(row_factory=class_row(Person)) as cursor,
    ):
        return cursor.execute(queries("people/directory")["listing"]).fetchall()


def change(connection: Connection, person: str, content: dict[str, Any], *, reason: str | None) -> int | None:
    """Change a person: at once while the first approvers are being registered (None), else by request (its id)."""
    with transaction(connection, doing=f"changing person {person}"):
        bootstrapping, acts_as_owner = one(connection, queries("people/directory")["standing"])
    if bootstrapping and acts_as_owner:
        with transaction(connection, doing=f"registering {person}", role="oneroof_owner"):
            connection.execute(queries("people/directory")["bootstrap"], {"person": person, "content": Jsonb(content)})
        return None
    if bootstrapping:
        raise Refused(
            "there are not yet two approvers, and this login did not install oneroof",
            hint="the installer registers the first two: oneroof person add NAME --login LOGIN --role approver",
        )
    return requests.request(
        connection,
        kind=KIND,
        subject=person,
        content=content,
        reason=reason or f"{content['action']} {person}",
    )
