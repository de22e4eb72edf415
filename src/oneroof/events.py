"""Signals: the vocabulary, what of it is active, and the one way into the outbox (doc 41, docs/explanation/events.md).

The rules are the database's (`gov_emit`, `gov_events_promote`): an event is emitted if its type is registered and
active, held if it is not, refused if it carries more than addresses, refs and counts, and each of these once.
Registering takes an operator, activating two people, deactivating one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any
from weakref import WeakKeyDictionary

from psycopg.errors import RaiseException
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from oneroof import approvals, retry
from oneroof.connection import Connection
from oneroof.errors import OneroofError, Usage
from oneroof.statements import one, queries
from oneroof.transaction import transaction
from oneroof.width import Width

KIND = "event.activate"
GATE = "governance.emit_enabled"
OPERATOR, WORKER = "oneroof_operator", "oneroof_worker"
BATCH = 5_000
_widths: WeakKeyDictionary[Connection, Width] = WeakKeyDictionary()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What gov_emit takes: which change of which object, and where to find it. The first four make its id."""

    event_type: str
    source: str
    source_key: str
    change_number: int
    subject_ref: str
    subject_table: str | None = None
    payload: dict[str, Any] = field(default_factory=dict)
    canonical_address: str | None = None
    occurred_at: datetime | None = None
    severity: str | None = None
    correlation_id: str | None = None

    def part(self) -> dict[str, Any]:
        """As one element of a batch."""
        said = {name: value for name, value in asdict(self).items() if value is not None}
        if self.occurred_at is not None:
            said["occurred_at"] = self.occurred_at.isoformat()
        return said


@dataclass(frozen=True, slots=True)
class Emitted:
    """What became of a batch; `known` had been taken before."""

    emitted: int
    held: int
    refused: int
    known: int


@dataclass(frozen=True, slots=True)
class Foreign:
    """A governance row of the outbox that gov_emit did not write as it is."""

    event_id: str
    event_type: str
    event_subject_table: str
    event_subject_ref: str | None
    source_system: str
    created_at: str | None
    reason: str


def listing(connection: Connection) -> list[EventType]:
    """The whole vocabulary, family by family."""
    with (
        transaction(connection, doing="listing event types", read_only=True, statement_timeout=5),
        connection.cursor(row_factory=class_row(EventType)) as cursor,
    ):
        return cursor.execute(queries("events")["listing"]).fetchall()


def strays(connection: Connection) -> dict[str, int]:
    """How many events are held of types that are in no vocabulary, and so would never be emitted."""
    with transaction(connection, doing="looking for unknown types", read_only=True, statement_timeout=5):
        return {name: int(held) for name, held in connection.execute(queries("events")["strays"])}


def named(connection: Connection, words: Sequence[str]) -> list[str]:
    """The types that words name, a `*` standing for anything; a word that names none is an error with a near match."""
    with transaction(connection, doing="looking for event types", read_only=True, statement_timeout=5):
        known = [name for (name,) in connection.execute(queries("events")["names"])]
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
        (made,) = one(connection, queries("events")["register"], {"types": types})
    return list(made)


def request_activation(connection: Connection, words: Sequence[str], *, reason: str) -> int:
    """Ask for types to be made active."""
    types = named(connection, words)
    if not types:
        raise Usage("which event types?", hint="oneroof events list")
    subject = types[0] if len(types) == 1 else f"{types[0]} and {len(types) - 1} more"
    return approvals.request(connection, kind=KIND, subject=subject, content={"event_types": types}, reason=reason)


def deactivate(connection: Connection, words: Sequence[str], *, reason: str | None = None) -> list[str]:
    """Make types inactive at once, as soon as nobody emits them; answers those that were active."""
    types = named(connection, words)
    with transaction(connection, doing="deactivating event types"):
        (ended,) = one(connection, queries("events")["deactivate"], {"types": types, "reason": reason})
    return list(ended)


def completed(event_type: str, *, worker: str, source: str, number: int, **counts: int | str) -> Event:
    """That a worker came to the end of its work on a source, for the so-manieth time."""
    return Event(
        event_type=event_type,
        source=worker,
        source_key=source,
        change_number=number,
        subject_table="governance_candidate_state",
        subject_ref=source,
        payload={"source": source, **counts},
    )


def emit(connection: Connection, batch: Iterable[Event]) -> Emitted:
    """Emit or hold a batch in the caller's transaction, which is a worker's."""
    parts = [event.part() for event in batch]
    if not parts:
        return Emitted(0, 0, 0, 0)
    return Emitted(*one(connection, queries("events")["emit"], {"events": Jsonb(parts)}))


def promote(connection: Connection, event_type: str | None = None, *, most: int = BATCH) -> int:
    """Emit some of what is held, of a type or of any that is active, in a transaction of its own; nought is the end.
    Where the outbox refuses one of them it is found by halving, and the next call goes on as narrow as this one ended.
    """
    width = _widths.get(connection)
    if width is None or width.most != most:
        width = _widths[connection] = Width(most=most)
    while True:
        try:
            with transaction(connection, doing="promoting held events", role=WORKER, lock_timeout=5):
                (moved,) = one(connection, queries("events")["promote"], {"type": event_type, "most": width.now})
        except OneroofError as error:
            is_refusal = retry.kind_of(error) == retry.POISON or isinstance(error.__cause__, RaiseException)
            if not (is_refusal and width.narrow()):
                raise
        else:
            width.widen()
            return int(moved)


def promotable(connection: Connection) -> bool:
    """Whether `promote` would find anything: a read, for whoever asks often."""
    with transaction(connection, doing="looking for held events", role=WORKER, read_only=True):
        (waiting,) = one(connection, queries("events")["promotable"])
    return bool(waiting)


def foreign(connection: Connection, *, most: int = 500) -> list[Foreign]:
    """Governance rows of the outbox that did not come through gov_emit, or were altered since, the oldest first."""
    with (
        transaction(connection, doing="looking for foreign events", read_only=True),
        connection.cursor(row_factory=class_row(Foreign)) as cursor,
    ):
        return cursor.execute(queries("events")["foreign"], {"most": most}).fetchall()
