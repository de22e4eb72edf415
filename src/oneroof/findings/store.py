"""Findings: what is wrong, as one row of the host's `system_issues` per type and subject (doc 31 §10, doc 39 §39.7).

Raising is idempotent: an open finding is counted, a closed one opens anew, and what was seen a moment ago unchanged is
not written at all. A finding that is a state is kept instead: a further look is no occurrence. The database keeps
the key unique, however many sessions raise at once. Raise, keep and clear belong into the transaction that found out;
the subject is an executor's name, `worker:source`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import printable, redact


@dataclass(frozen=True, slots=True)
class Finding:
    """One that is open, as the host sees it."""

    coalesce_key: str
    issue_type: str
    subject: str
    issue_id: int
    severity: str | None
    status: str
    owner_ref: str | None
    title: str | None
    details: dict[str, Any]
    occurrence_count: int
    reopen_count: int
    first_seen_at: datetime
    last_seen_at: datetime

    @property
    def words(self) -> str:
        """What it is about, and how many there are of it, where they are counted."""
        counted = next(
            (self.details[name] for name in ("population", "count", "vanished") if name in self.details), None
        )
        return " ".join([*([] if counted is None else [f"({counted})"]), self.title or self.issue_type])


def raise_finding(
    connection: Connection, issue_type: str, *, subject: str, title: str, details: dict[str, Any]
) -> bool:
    """Raise it in the caller's transaction, since something has happened; True if it was not open before."""
    (opened,) = one(connection, queries("findings/store")["raise"], _given(issue_type, subject, title, details))
    return bool(opened)


def keep_finding(connection: Connection, issue_type: str, *, subject: str, title: str, details: dict[str, Any]) -> bool:
    """Say in the caller's transaction that something is so, which is no occurrence while it was so before; True if it
    was not open before.
    """
    (opened,) = one(connection, queries("findings/store")["keep"], _given(issue_type, subject, title, details))
    return bool(opened)


def clear_finding(connection: Connection, issue_type: str, *, subject: str) -> bool:
    """Close it in the caller's transaction; True if it was open."""
    (was_open,) = one(connection, queries("findings/store")["clear"], {"type": issue_type, "subject": subject})
    return bool(was_open)


def count_open(connection: Connection) -> int:
    """How many of ours are open, also inside a caller's transaction."""
    (count,) = one(connection, queries("findings/store")["count_open"])
    return int(count)


def listing(connection: Connection, *, bucket: str | None = None, limit: int = 500) -> list[Finding]:
    """The open ones, the worst first, of one bucket if it is named; `count_open` says whether any were left out."""
    with (
        transaction(connection, doing="listing findings", read_only=True, statement_timeout=5),
        connection.cursor(row_factory=class_row(Finding)) as cursor,
    ):
        return cursor.execute(queries("findings/store")["open"], {"limit": limit, "bucket": bucket}).fetchall()


def _given(issue_type: str, subject: str, title: str, details: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": issue_type,
        "subject": subject,
        "title": _storable(title),
        "details": Jsonb(_storable(details)),
    }


def _storable(value: Any) -> Any:
    """What a finding quotes may be the very text that PostgreSQL cannot hold, or a connection string."""
    match value:
        case str():
            return redact(printable(value)).encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {_storable(key): _storable(each) for key, each in value.items()}
        case list() | tuple():
            return [_storable(each) for each in value]
        case _:
            return value
