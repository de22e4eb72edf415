"""Requests and decisions: one mechanism for everything that needs two people (promise 21).

The rules live in the database (`gov_request_open`, `gov_request_decide`); this module asks and reports. Identity is
the login of the session; a refusal comes back as `Refused`.
"""

from __future__ import annotations

from typing import Any, Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import Refused
from oneroof.people.records import Request

Decision = Literal["approved", "rejected"]


def request(connection: Connection, *, kind: str, subject: str, content: dict[str, Any], reason: str) -> int:
    """Ask; the same pending request twice is one."""
    with transaction(connection, doing=f"requesting {kind} {subject}"):
        row = one(
            connection,
            queries("people/requests")["request"],
            {"kind": kind, "subject": subject, "content": Jsonb(content), "reason": reason},
        )
    return int(row[0])


def decide(connection: Connection, request_id: int, decision: Decision, *, reason: str | None = None) -> Request:
    """Approve or reject another person's request; what an approval does is done in the same transaction."""
    with transaction(connection, doing=f"deciding request {request_id}"):
        (state,) = one(
            connection,
            queries("people/requests")["decide"],
            {"request": request_id, "decision": decision, "reason": reason},
        )
    if state == "void":
        kind = find(connection, request_id).request_kind
        raise Refused(
            f"request {request_id} ({kind}), or what it is bound to, was edited after it was made, and is now void",
            hint="request it again",
        )
    return find(connection, request_id)


def find(connection: Connection, request_id: int) -> Request:
    """One request, whatever its state."""
    for found in listing(connection, request_id=request_id):
        return found
    raise Refused(f"there is no request {request_id}", hint="oneroof approvals list --all")


def listing(
    connection: Connection,
    *,
    states: tuple[str, ...] = ("pending", "approved", "rejected", "void"),
    kind: str | None = None,
    request_id: int | None = None,
    limit: int = 500,
) -> list[Request]:
    """Requests, newest first."""
    with (
        transaction(connection, doing="listing requests", read_only=True),
        connection.cursor(row_factory=class_row(Request)) as cursor,
    ):
        parameters = {"states": list(states), "kind": kind, "request": request_id, "limit": limit}
        return cursor.execute(queries("people/requests")["listing"], parameters).fetchall()
