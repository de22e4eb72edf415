"""Emitting signals: the one way into the outbox, and the promotion of what was held (doc 41 §41.3, doc 32 §5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from psycopg.errors import RaiseException
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError
from oneroof.failures import error_kinds
from oneroof.failures.batch_size import Width

GATE = "governance.emit_enabled"
WORKER = "oneroof_worker"
BATCH = 5_000


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
    return Emitted(*one(connection, queries("signals/emission")["emit"], {"events": Jsonb(parts)}))


def promote(
    connection: Connection, event_type: str | None = None, *, most: int = BATCH, width: Width | None = None
) -> int:
    """Emit some of what is held, of a type or of any that is active, in a transaction of its own; nought is the end.
    Where the outbox refuses an event it is found by halving. A caller that promotes again gives the same `width` again:
    the next call goes on as narrow as this one ended.
    """
    width = width or Width(most=most)
    while True:
        try:
            with transaction(connection, doing="promoting held events", role=WORKER, lock_timeout=5):
                (moved,) = one(
                    connection, queries("signals/emission")["promote"], {"type": event_type, "most": width.now}
                )
        except OneroofError as error:
            is_refusal = error_kinds.kind_of(error) == error_kinds.POISON or isinstance(error.__cause__, RaiseException)
            if not (is_refusal and width.narrow()):
                raise
        else:
            width.widen()
            return int(moved)


def promotable(connection: Connection) -> bool:
    """Whether `promote` would find anything: a read, cheap enough to ask often."""
    with transaction(connection, doing="looking for held events", role=WORKER, read_only=True):
        (waiting,) = one(connection, queries("signals/emission")["promotable"])
    return bool(waiting)


def foreign(connection: Connection, *, most: int = 500) -> list[Foreign]:
    """Governance rows of the outbox that did not come through gov_emit, or were altered since, the oldest first."""
    with (
        transaction(connection, doing="looking for foreign events", read_only=True),
        connection.cursor(row_factory=class_row(Foreign)) as cursor,
    ):
        return cursor.execute(queries("signals/emission")["foreign"], {"most": most}).fetchall()
