"""Cursors: how far a worker is in a source (doc 39 §39.4), moved in the same transaction as its effects.

The watermark `(last_watermark_ts, last_watermark_id)` is for people and for the newest rows; completeness rests on the
frontier: every source row with an xid below it that will ever be visible has been applied. A window is one pass from
the frontier to a horizon H fixed at its start; `window_at` is where in it to go on after a crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from oneroof.database.connection import Answer, Connection
from oneroof.database.statements import one, queries


@dataclass(frozen=True, slots=True)
class Cursor:
    """What `gov_cursor_read` answers; xids as integers, timestamps as PostgreSQL writes them (some fit no type). Below
    `horizon` every transaction is finished, from `next_xid` on none has begun; `identity` is the cluster and timeline
    of both, `cluster_identity` those of the frontier.
    """

    cursor_id: int
    worker_name: str
    source_name: str
    phase: str | None
    last_watermark_ts: str | None
    last_watermark_id: str | None
    watermark_text: str | None
    frontier: int | None
    window_horizon: int | None
    window_at: dict[str, Any] | None
    cluster_identity: str | None
    events_seen: int
    metadata: dict[str, Any]
    rested: float
    has_due: bool
    has_untold: bool
    horizon: int
    next_xid: int
    identity: str
    oldest: str | None


@dataclass(frozen=True, slots=True)
class Pruned:
    """The last remembered version that was forgotten, and how many were with it; and the same of spans."""

    xid: int = 0
    mark: str = ""
    gone: int = 0
    span: int = 0
    spans: int = 0


def read_identity(connection: Connection) -> str:
    """The cluster and its timeline, neither of which changes under a connection that may write."""
    (identity,) = one(connection, queries("fence/cursor")["identity"])
    return str(identity)


@lru_cache(maxsize=5000)
def reading(*, worker: str, source: str, overlap: str | None = None) -> bytes:
    """The statement that reads the cursor, and makes it if it is the first time; with when the oldest transaction began
    that may still write, if an overlap is given.
    """
    identity = sql.SQL(queries("fence/cursor")["identity"])
    words = {"worker": worker, "source": source, "overlap": overlap, "identity": identity}
    return sql.SQL(queries("fence/cursor")["read"]).format(**words).as_bytes(None)


def read(answer: Answer) -> Cursor:
    """The cursor from the answers to a message, the last of which it is."""
    row = answer.set_result(-1).fetchone()
    assert row is not None
    return Cursor(*row)


def open_window(
    connection: Connection,
    cursor: Cursor,
    *,
    phase: str,
    at: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Fix H for a pass. A frontier of another cluster or timeline counts for nothing: the pass is a full one."""
    if cursor.cluster_identity not in (None, cursor.identity):
        _move(connection, cursor, "forget")
    _move(
        connection,
        cursor,
        "open_window",
        horizon=str(cursor.horizon),
        identity=cursor.identity,
        phase=phase,
        at=_json(at),
        metadata=Jsonb(metadata or {}),
    )


def start(connection: Connection, cursor: Cursor, frontier: int, *, identity: str, leaves: list[int]) -> None:
    """Begin at a frontier that another worker has reached, without a first window."""
    metadata = Jsonb({"leaves": leaves})
    _move(connection, cursor, "start", frontier=str(frontier), identity=identity, metadata=metadata)


def advancing(
    cursor: Cursor,
    *,
    at: dict[str, Any] | None,
    seen: int,
    written: int,
    coalesced: int,
    watermark: tuple[str, str] | None,
    summary: dict[str, Any],
) -> bytes:
    """The statement that moves the cursor on inside its window; a watermark, if given, moves up and never down."""
    text, key = watermark or (None, None)
    moved = sql.SQL(queries("fence/cursor")["advance"]).format(
        worker=cursor.worker_name,
        source=cursor.source_name,
        at=_json(at),
        seen=seen,
        written=written,
        coalesced=coalesced,
        text=text,
        key=key,
        summary=Jsonb(summary),
    )
    return moved.as_bytes(None)


def place(
    connection: Connection, cursor: Cursor, at: dict[str, Any], *, metadata: dict[str, Any] | None = None
) -> None:
    """Move on over a stretch in which there was nothing to do."""
    _move(connection, cursor, "place", at=Jsonb(at), metadata=Jsonb(metadata or {}))


def close_window(connection: Connection, cursor: Cursor, *, phase: str) -> None:
    """Everything below H is applied: F := H."""
    _move(connection, cursor, "close_window", phase=phase)


def pass_over(connection: Connection, cursor: Cursor, *, metadata: dict[str, Any]) -> None:
    """A window that holds nothing, opened and closed in one: F := H."""
    _move(connection, cursor, "pass_over", horizon=str(cursor.horizon), metadata=Jsonb(metadata))


def summarise(connection: Connection, cursor: Cursor, *, books: str) -> None:
    """Add to the account of a sweep how many objects of its source have which verdict."""
    _move(connection, cursor, "summarise", books=books)


def take_snapshot(connection: Connection, source: str, scope: str, metrics: dict[str, Any]) -> int:
    """Keep a snapshot of a source; its number."""
    given = {"source": source, "scope": scope, "metrics": Jsonb(metrics)}
    return int(one(connection, queries("fence/cursor")["snapshot"], given)[0])


def prune(connection: Connection, cursor: Cursor, *, behind: Pruned, most: int) -> Pruned:
    """Forget some of what was remembered and F has passed since; how many, and how far it came."""
    where = {"cursor": cursor.cursor_id, "frontier": cursor.frontier, "most": most}
    return Pruned(
        *one(
            connection,
            queries("fence/cursor")["prune"],
            {**where, "xid": behind.xid, "mark": behind.mark, "span": behind.span},
        )
    )


def rewind(connection: Connection, *, worker: str, source: str) -> None:
    """The one way back, said aloud: everything is read again from the beginning, which adds nothing that is there."""
    connection.execute("SELECT set_config('oneroof.replay', 'on', true)")
    for statement in (queries("fence/cursor")["fold"], queries("fence/cursor")["rewind"]):
        connection.execute(statement, {"worker": worker, "source": source})


def _move(connection: Connection, cursor: Cursor, how: str, **parameters: Any) -> None:
    who = {"worker": cursor.worker_name, "source": cursor.source_name}
    connection.execute(queries("fence/cursor")[how], {**who, **parameters})


def _json(value: dict[str, Any] | None) -> Jsonb | None:
    return None if value is None else Jsonb(value)
