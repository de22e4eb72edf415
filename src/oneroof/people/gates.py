"""Gates: switches that are closed unless two different people opened them (promise 21).

Open means: `dot_config` says true AND an approval of ours stands that is bound to that very version of the row.
Opening is a request like any other; closing needs one person.
"""

from __future__ import annotations

from psycopg.rows import class_row

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import Refused
from oneroof.people import requests
from oneroof.people.records import Gate

KIND = "gate.open"


def listing(connection: Connection) -> list[Gate]:
    """Every gate, with the reason it is not open."""
    with (
        transaction(connection, doing="listing gates", read_only=True),
        connection.cursor(row_factory=class_row(Gate)) as cursor,
    ):
        return cursor.execute(queries("people/gates")["listing"]).fetchall()


def request(connection: Connection, gate_key: str, *, reason: str) -> int:
    """Ask for a gate to be opened."""
    for gate in listing(connection):
        if gate.gate_key == gate_key and gate.is_open:
            raise Refused(f"the gate {gate_key} is open already", hint="oneroof gate list")
    return requests.request(connection, kind=KIND, subject=gate_key, content={"value": "true"}, reason=reason)


def close(connection: Connection, gate_key: str, *, reason: str | None = None) -> bool:
    """Close a gate; False if it was closed."""
    with transaction(connection, doing=f"closing the gate {gate_key}"):
        (was_open,) = one(connection, queries("people/gates")["close"], {"gate": gate_key, "reason": reason})
    return bool(was_open)


def require_open(connection: Connection, gate_key: str) -> None:
    """Refuse to go on while a gate is closed."""
    (is_open,) = one(connection, queries("people/gates")["is_open"], {"gate": gate_key})
    if not is_open:
        raise Refused(f"the gate {gate_key} is closed", hint=f"oneroof gate request {gate_key} --reason …")
