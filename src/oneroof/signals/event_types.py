"""The types of signals: which are registered, which are active, and how that changes (doc 41 §41.3, §41.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from fnmatch import fnmatchcase

from psycopg.rows import class_row

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import Usage
from oneroof.people import requests

KIND = "event.activate"
OPERATOR = "oneroof_operator"


@dataclass(frozen=True, slots=True)
class EventType:
    """One type of the vocabulary, and how it stands with the host."""

    event_type: str
    family: str
    event_stream: str
    delivery_lane: str
    default_severity: str
    owner_hint: str
    subject_table: str | None
    payload_keys: list[str]
    description: str
    is_registered: bool
    is_active: bool
    held: int
    request_id: int | None
    requested_by: str | None
    approved_by: str | None
    activated_at: datetime | None


def listing(connection: Connection) -> list[EventType]:
    """The whole vocabulary, family by family."""
    with (
        transaction(connection, doing="listing event types", read_only=True, statement_timeout=5),
        connection.cursor(row_factory=class_row(EventType)) as cursor,
    ):
        return cursor.execute(queries("signals/event_types")["listing"]).fetchall()


def strays(connection: Connection) -> dict[str, int]:
    """How many events are held of types that are in no vocabulary, and so would never be emitted."""
    with transaction(connection, doing="looking for unknown types", read_only=True, statement_timeout=5):
        return {name: int(held) for name, held in connection.execute(queries("signals/event_types")["strays"])}


def named(connection: Connection, words: Sequence[str]) -> list[str]:
    """The types that words name, a `*` standing for anything; a word that names none is an error with a near match."""
    with transaction(connection, doing="looking for event types", read_only=True, statement_timeout=5):
        known = [name for (name,) in connection.execute(queries("signals/event_types")["names"])]
    found: set[str] = set()
    for word in words:
        fitting = [name for name in known if fnmatchcase(name, word)]
        if not fitting:
            near = get_close_matches(word, known, n=1) or get_close_matches(f"governance.{word}", known, n=1)
            raise Usage(
                f"there is no event type {word!r}",
                hint=f"did you mean {near[0]}?" if near else "oneroof events list",
            )
        found |= set(fitting)
    return sorted(found)


def register(connection: Connection, words: Sequence[str] = ()) -> list[str]:
    """Register types with the host, inactive, or all of them; answers those that were not. Nothing else changes."""
    types = named(connection, words) if words else None
    with transaction(connection, doing="registering event types", role=OPERATOR, lock_timeout=5):
        (made,) = one(connection, queries("signals/event_types")["register"], {"types": types})
    return list(made)


def request_activation(connection: Connection, words: Sequence[str], *, reason: str) -> int:
    """Ask for types to be made active."""
    types = named(connection, words)
    if not types:
        raise Usage("which event types?", hint="oneroof events list")
    subject = types[0] if len(types) == 1 else f"{types[0]} and {len(types) - 1} more"
    return requests.request(connection, kind=KIND, subject=subject, content={"event_types": types}, reason=reason)


def deactivate(connection: Connection, words: Sequence[str], *, reason: str | None = None) -> list[str]:
    """Make types inactive at once, as soon as no transaction emits them; answers those that were active."""
    types = named(connection, words)
    with transaction(connection, doing="deactivating event types"):
        (ended,) = one(connection, queries("signals/event_types")["deactivate"], {"types": types, "reason": reason})
    return list(ended)
