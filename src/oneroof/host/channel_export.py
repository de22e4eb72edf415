"""What oneroof has written into the host's shared channels, counted and exported.

Uninstalling drops our tables but never the host's rows: what we wrote there stays, and is named before we go.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from psycopg import sql

from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.database.transaction import transaction
from oneroof.errors import Usage

OURS = (
    "governance_person",
    "governance_person_login",
    "governance_request",
    "governance_gate_opening",
    "governance_source",
    "governance_handoff_map",
    "gov_worker_cursor",
    "governance_worker_policy",
    "governance_finding",
    "governance_retry",
    "governance_office",
    "governance_object_ownership",
    "governance_exception",
    "governance_rule",
    "governance_ruleset",
    "governance_object",
    "governance_verdict_history",
    "governance_event_activation",
    "governance_event",
    "governance_subscription",
)


def remaining(connection: Connection) -> dict[str, int]:
    """Rows of ours per shared channel; a channel without any is left out."""
    with transaction(connection, doing="counting our rows in the shared channels", read_only=True):
        found = {
            channel: int(count)
            for channel, query in queries("host/channel_export").items()
            for (count,) in connection.execute(sql.SQL("SELECT count(*) FROM ({}) AS ours").format(sql.SQL(query)))
        }
    return {channel: count for channel, count in found.items() if count}


def export(connection: Connection, path: Path) -> int:
    """Write our rows, in the channels and in our own tables, as JSON lines; whole or not at all."""
    if not path.name:
        raise Usage("an export needs the name of a file")
    # Never over something that is there, be it an earlier export, a device or another user's file.
    try:
        file = path.open("x", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise Usage(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None
    try:
        with file:
            written = sum(file.write(line) > 0 for line in _lines(connection))
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        with suppress(OSError):
            path.unlink()
        if isinstance(error, OSError):
            raise Usage(f"cannot write {path}: {error.strerror or error}") from None
        raise
    return written


def _lines(connection: Connection) -> Iterator[str]:
    selects = {
        **{name: sql.SQL(query) for name, query in queries("host/channel_export").items()},
        **{name: sql.SQL("SELECT * FROM oneroof.{}").format(sql.Identifier(name)) for name in OURS},
    }
    with transaction(connection, doing="exporting our rows", read_only=True):
        for name, select in selects.items():
            copy = sql.SQL(
                "SELECT jsonb_build_object('table', {}::text, 'row', to_jsonb(ours))::text FROM ({}) AS ours"
            )
            with connection.cursor(name="oneroof_export") as cursor:
                for (line,) in cursor.execute(copy.format(sql.Literal(name), select)):
                    yield f"{line}\n"
