"""The whole story of one object: its row, its facts, the rule that decided, what it was before, and why that ended.

Everything is looked up by the key; nothing is judged here. What the row says now is read from the source itself, so
that a row which has moved on since the last scan shows beside the facts that the verdict rests on. Where it cannot be
read, since the key is none or the table is another one now, the rest is told all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row

from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError, Wrong
from oneroof.sources import registration
from oneroof.sources.source import Source
from oneroof.tail import row_queries


@dataclass(frozen=True, slots=True)
class Earlier:
    """A verdict that an object had, and why it ended."""

    verdict: str
    undecided_reason: str | None
    ruleset_version: str
    change_number: int
    scan_time: datetime | None
    ended_at: datetime
    ended_because: str | None


@dataclass(frozen=True, slots=True)
class Open:
    """A finding that this object is one of."""

    issue_type: str
    severity: str
    owner_ref: str | None
    title: str
    first_seen_at: datetime


@dataclass(frozen=True, slots=True)
class Candidate:
    """One object as it stands."""

    candidate_key: str
    source_name: str
    source_key: str
    group_key: str
    grain: str
    verdict: str
    undecided_reason: str | None
    input_state: str
    rule_code: str | None
    input_rule: str | None
    ruleset_version: str
    snapshot_ref: str | None
    change_number: int
    scan_time: datetime | None
    stale_after: datetime | None
    dirty: bool
    dirty_reason: str | None
    dirtied_at: datetime | None
    created_at: datetime
    facts: dict[str, Any] | None
    finding_types: list[str] | None
    cls: str | None


@dataclass(frozen=True, slots=True)
class Story:
    """An object with all that is known of it; `row` is None where its source does not show it now, or it is unreadable:
    for which reason.
    """

    candidate: Candidate
    row: dict[str, Any] | None
    unreadable: str | None
    rules: dict[str, str]
    history: list[Earlier]
    findings: list[Open]
    stands_for: list[str]


def trace(connection: Connection, key: str) -> Story:
    """Tell it, or say which key comes next to the one that was asked for."""
    known = {each.source_name: each for each in registration.listing(connection)}
    said = queries("reads/trace")
    with transaction(connection, doing=f"tracing {key}", read_only=True, statement_timeout=5):
        with connection.cursor(row_factory=class_row(Candidate)) as rows:
            rows.execute(said["candidate"], {"key": key})
            candidate = rows.fetchone()
        if candidate is None:
            raise _unknown(connection, key)
        codes = [code for code in (candidate.rule_code, candidate.input_rule) if code]
        rules: dict[str, str] = dict(connection.execute(said["rules"], {"codes": codes}).fetchall())
        with connection.cursor(row_factory=class_row(Earlier)) as rows:
            history = rows.execute(said["history"], {"key": key}).fetchall()
        about = {"types": candidate.finding_types or [], "subject": f"{candidate.source_name}:{candidate.cls or ''}"}
        with connection.cursor(row_factory=class_row(Open)) as rows:
            findings = rows.execute(said["findings"], about).fetchall()
        others = connection.execute(said["represented"], {"source": candidate.source_name, "key": key}).fetchall()
        tailed = known.get(candidate.source_name)
        row, unreadable = (None, None) if tailed is None else _row(connection, tailed, candidate.source_key)
    return Story(candidate, row, unreadable, rules, history, findings, [other for (other,) in others])


def _row(connection: Connection, source: Source, key: str) -> tuple[dict[str, Any] | None, str | None]:
    """The row as it is, if it is there; or why it cannot be read."""
    try:
        with connection.transaction():
            found = connection.execute(row_queries.item_parts(source), {"keys": [key]}).fetchone()
    except (psycopg.DataError, psycopg.ProgrammingError) as error:
        return None, error.diag.message_primary or str(error)
    return (None if found is None else found[0]), None


def _unknown(connection: Connection, key: str) -> OneroofError:
    near = connection.execute(queries("reads/trace")["alike"], {"key": key}).fetchone()
    hint = None if near is None else f"oneroof trace {near[0]!r}"
    return Wrong(f"no object has the key {key!r}", hint=hint)
