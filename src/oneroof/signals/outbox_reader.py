"""The signals of the outbox, in an order in which none is lost, as CloudEvents
(docs/explanation/signals/register-before-emit.md).

The order is that of transactions, up to the horizon below which all are finished: a transaction that commits late is
beyond it until it has, so whatever was read stays behind the cursor and nothing appears there later. Timestamps only
order the rows of one transaction. A cursor is a place in that order, of one cluster and timeline.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

from psycopg.rows import dict_row

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import Usage
from oneroof.fence.cursor import read_identity
from oneroof.signals import event_types

NO_EVENT = "00000000-0000-0000-0000-000000000000"
BEFORE_ALL = "-infinity"
PAGE = 10_000
# Farther back the age of a 32-bit xmin does not tell; with room for what happens meanwhile.
FARTHEST = 2**31 - 2**26
# A timestamp as PostgreSQL writes it into JSON.
_BORN = re.compile(r"-?infinity|\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d(:\d\d){1,2})?( BC)?")


@dataclass(frozen=True, slots=True)
class Place:
    """Behind which row to go on; where the xid is a horizon, before everything of it."""

    identity: str
    xid: int = 0
    born: str = BEFORE_ALL
    event_id: str = NO_EVENT

    def token(self) -> str:
        """As one opaque word."""
        text = json.dumps([self.identity, self.xid, self.born, self.event_id], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class Signal:
    """One row of the outbox, and the cursor behind it."""

    event_id: str
    event_type: str
    event_stream: str
    severity: str | None
    subject_table: str
    subject_ref: str | None
    canonical_address: str
    correlation_id: str | None
    payload: Any
    time: str | None
    place: Place

    def cloud_event(self, *, source: str) -> dict[str, Any]:
        """As CloudEvents 1.0 has it; what the outbox knows besides are extension attributes."""
        known = {
            "specversion": "1.0",
            "id": self.event_id,
            "source": source,
            "type": self.event_type,
            "subject": f"{self.subject_table}/{self.subject_ref}" if self.subject_ref else self.subject_table,
            "time": self.time,
            "datacontenttype": "application/json",
            "data": self.payload,
            "stream": self.event_stream,
            "severity": self.severity,
            "canonicaladdress": self.canonical_address,
            "correlationid": self.correlation_id,
            "cursor": self.place.token(),
        }
        return {name: value for name, value in known.items() if value is not None}

    def line(self) -> str:
        """For a person: when, what, about whom, what it says, and the cursor."""
        said = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.payload.items())
        return f"{self.time or '-'} {self.event_type} {self.canonical_address} {said} @{self.place.token()}"


@dataclass(frozen=True, slots=True)
class Page:
    """Signals in their order, the place behind them, and whether more are waiting already."""

    signals: list[Signal]
    place: Place
    more: bool


def source_of(connection: Connection) -> str:
    """Where the signals come from, as a URI reference."""
    return f"/oneroof/{quote(connection.info.dbname, safe='')}"


def patterns(connection: Connection, words: Sequence[str]) -> list[str] | None:
    """What the names of types are compared with. A word with a `*` may name types of the future."""
    if not words:
        return None
    event_types.named(connection, [word for word in words if "*" not in word])
    escaped = (word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for word in words)
    return [word.replace("*", "%") for word in escaped]


def parse(token: str) -> Place:
    """The place that a cursor means."""
    try:
        padded = token.strip() + "=" * (-len(token.strip()) % 4)
        identity, xid, born, event_id = json.loads(base64.urlsafe_b64decode(padded.encode("ascii")))
        if not (isinstance(identity, str) and type(xid) is int and abs(xid) < 2**63 and _BORN.fullmatch(born)):
            raise TypeError
        return Place(identity, xid, born, str(UUID(event_id)))
    except (ValueError, TypeError, AttributeError):
        raise Usage(f"{token[:80]!r} is no cursor", hint="a cursor is what `oneroof events tail` printed") from None


def begin(connection: Connection, token: str | None) -> tuple[Place, str | None]:
    """Where to go on, and what to say if that is from the beginning although there is a cursor."""
    with transaction(connection, doing="asking which cluster this is", read_only=True):
        identity = read_identity(connection)
        (horizon,) = one(connection, queries("signals/outbox_reader")["horizon"])
    if token is None:
        return Place(identity), None
    place = parse(token)
    if place.identity != identity:
        return Place(identity), "the cursor is of another cluster or timeline: beginning anew; ids tell what is known"
    if place.xid > horizon:
        # A horizon never goes back, but for the files of the server being those of an earlier moment.
        return Place(identity), "the cursor is ahead of this database: beginning anew; ids tell what is known"
    if horizon - place.xid > FARTHEST and place.xid:
        return Place(identity), "the cursor is too far back to be compared: beginning anew; ids tell what is known"
    return place, None


def read(connection: Connection, place: Place, *, types: list[str] | None, most: int = PAGE) -> Page:
    """The next signals behind a place, in a transaction that is over when they are here."""
    parameters = {
        "types": types,
        "xid": place.xid,
        "born": place.born,
        "id": place.event_id,
        "most": most,
    }
    whole = {"row_security": "off"}
    with (
        transaction(connection, doing="reading event_outbox", read_only=True, statement_timeout=5, settings=whole),
        connection.cursor(row_factory=dict_row) as cursor,
    ):
        rows = cursor.execute(queries("signals/outbox_reader")["page"], parameters).fetchall()
    horizon = int(rows[0]["horizon"])
    found = [_signal(row, place.identity) for row in rows if row["event_id"] is not None]
    if len(found) == most:
        return Page(found, found[-1].place, more=True)
    # All that is below the horizon was read, so the next page begins there.
    return Page(found, Place(place.identity, max(horizon, place.xid)), more=False)


def _signal(row: dict[str, Any], identity: str) -> Signal:
    reached = Place(identity, row.pop("xid"), row.pop("born"), row["event_id"])
    del row["horizon"]
    return Signal(**row, place=reached)


def load(path: Path) -> str | None:
    """The cursor that a file holds, if it is there."""
    try:
        return path.read_text(encoding="ascii").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Usage(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def save(path: Path, place: Place) -> None:
    """Replace the file as a whole: a reader finds one whole cursor at any time."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="ascii") as file:
            file.write(f"{place.token()}\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except (OSError, ValueError) as error:
        with suppress(OSError):
            beside.unlink()
        raise Usage(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None
