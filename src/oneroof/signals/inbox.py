"""The inbox: which signals a recipient wants to see, and which it has seen (doc 41 §41.8,
docs/explanation/signals/register-before-emit.md).

A recipient is an office or a person. What it wants are rows of the host's `event_subscription`, what it has seen rows
of `event_read`; of each signal there is one, however many subscriptions fit it and however many sessions read at once.
Muting hides signals, never the findings behind them. A reader may list; all else takes an operator.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import Refused, Usage
from oneroof.signals import event_types

OPERATOR = "oneroof_operator"
MOST = 500
BATCH = 50_000
LONGEST = 2_048


@dataclass(frozen=True, slots=True)
class Notice:
    """One signal in an inbox."""

    event_id: str
    event_type: str
    event_stream: str
    severity: str | None
    subject_table: str
    subject_ref: str | None
    canonical_address: str
    correlation_id: str | None
    payload: Any
    occurred_at: str | None
    emitted_at: str | None
    read_at: str | None


@dataclass(frozen=True, slots=True)
class Inbox:
    """The newest signals of a recipient, and how many there are beyond them."""

    recipient: str
    unread: int
    read: int
    left_off: int
    subscriptions: int
    muted: int
    signals: list[Notice]


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a recipient was subscribed to, and whether it had been before."""

    subscription_id: str
    is_new: bool
    is_muted: bool


@dataclass(frozen=True, slots=True)
class Muted:
    """How many subscriptions there are, how many changed, and how many of those are of every domain."""

    found: int
    changed: int
    wide: int


def listing(connection: Connection, recipient: str, *, everything: bool = False, most: int = MOST) -> Inbox:
    """What a recipient has not read, the newest first; or everything that it is subscribed to."""
    said = {"recipient": recipient, "everything": everything, "most": min(most, MOST)}
    roomy = {"row_security": "off", "work_mem": "32MB"}
    with (
        transaction(connection, doing="reading the inbox", read_only=True, statement_timeout=5, settings=roomy),
        connection.cursor(row_factory=dict_row) as cursor,
    ):
        one(connection, queries("signals/inbox")["require"], said)
        found, muted = one(connection, queries("signals/inbox")["subscriptions"], said)
        rows = cursor.execute(queries("signals/inbox")["page"], said).fetchall()
    unread, seen = int(rows[0]["unread"]), int(rows[0]["read"])
    signals = [_notice(row) for row in rows if row["event_id"] is not None]
    left_off = unread + (seen if everything else 0) - len(signals)
    return Inbox(recipient, unread, seen, left_off, found, muted, signals)


def _notice(row: dict[str, Any]) -> Notice:
    del row["unread"], row["read"]
    return Notice(**row)


def read(connection: Connection, recipient: str, chosen: Sequence[UUID] | None) -> int:
    """Note that a recipient has seen these signals, or all that are unread now; answers how many were unread."""
    noted = 0
    while True:
        said = {"recipient": recipient, "events": None if chosen is None else list(chosen), "most": BATCH}
        doing = f"reading the inbox of {recipient}"
        with transaction(connection, doing=doing, role=OPERATOR, statement_timeout=30, lock_timeout=5):
            (batch,) = one(connection, queries("signals/inbox")["read"], said)
        noted += int(batch)
        if batch < BATCH:
            return noted


def subscribe(
    connection: Connection,
    recipient: str,
    *,
    event_type: str | None = None,
    stream: str | None = None,
    table: str | None = None,
    scope: str | None = None,
) -> Subscription:
    """Subscribe a recipient; what is left out fits anything, and the same twice is one."""
    if event_type is not None and stream is not None:
        raise Usage("--type or --stream, not both", hint="a type is of one stream")
    if event_type is not None and event_types.named(connection, [event_type]) != [event_type]:
        raise Usage(f"{event_type!r} is no single event type", hint="one for each type, or --stream for a family")
    said = {"recipient": recipient, "type": event_type, "stream": stream, "table": table}
    with transaction(connection, doing=f"subscribing {recipient}", role=OPERATOR, lock_timeout=5):
        return Subscription(
            *one(connection, queries("signals/inbox")["subscribe"], {**said, "filter": Jsonb(_scope(scope))})
        )


def mute(connection: Connection, recipient: str, *, pattern: str | None = None, on: bool = True) -> Muted:
    """Mute a recipient's subscriptions or those of a type alone, or let them be heard again."""
    types = None if pattern is None else event_types.named(connection, [pattern])
    said = {"recipient": recipient, "types": types, "mute": on}
    with transaction(connection, doing=f"muting {recipient}", role=OPERATOR, lock_timeout=5):
        done = Muted(*one(connection, queries("signals/inbox")["mute"], said))
    if done.found == 0 and pattern is not None:
        raise Refused(
            f"{recipient} has no subscription of the type {pattern}", hint="without --type it is about all there are"
        )
    if done.found == 0:
        raise Refused(f"{recipient} has no subscription", hint=f"oneroof inbox subscribe {recipient}")
    return done


def _scope(text: str | None) -> object:
    """What a filter says; whether that is a filter the database decides."""
    if text is None:
        return {}
    try:
        if len(text) > LONGEST or "\\u0000" in text:
            raise ValueError
        found = json.loads(text, parse_constant=_no_number)
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise Usage(f"{text[:80]!r} is no filter", hint='--filter \'{"collection_name": "things"}\'') from None
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)
