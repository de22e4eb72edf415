"""Cursors: how far a worker is in a source (doc 39 §39.4), moved in the same transaction as its effects.

The watermark `(last_watermark_ts, last_watermark_id)` is for people and for the fast lane; completeness rests on the
frontier: every source row with an xid below it that will ever be visible has been applied. A window is one pass from
the frontier to a horizon H fixed at its start; `window_at` is where in it to go on after a crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from psycopg import sql
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from oneroof.db import Answer, Connection, one, queries, say_last, say_now
from oneroof.source import Source

_identities: WeakKeyDictionary[Connection, str] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Cursor:
    """What `gov_cursor_read` answers; xids as integers, timestamps as PostgreSQL writes them (some fit no type)."""

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
    oldest: str | None

    def is_at(self, other: Cursor) -> bool:
        """Whether it is where another was, for whoever looks for new rows."""
        return self._place == other._place

    @property
    def _place(self) -> tuple[object, ...]:
        window = (self.window_horizon, self.window_at)
        return self.cursor_id, self.phase, self.frontier, *window, self.cluster_identity, self.metadata.get("started")


@dataclass(frozen=True, slots=True)
class Horizon:
    """Below `xid` every transaction is finished, from `next` on none has begun; the cluster and timeline of both."""

    xid: int
    next: int
    identity: str


@dataclass(frozen=True, slots=True)
class Ground:
    """The files that a source's rows lie in: blocks of the longest, the tables, and a mark that a rewrite changes; and
    the writes that the server has counted, if it counts.
    """

    blocks: int
    leaves: list[int]
    files: str
    written: int | None


@dataclass(frozen=True, slots=True)
class Pruned:
    """The last remembered version that was forgotten, and how many were with it; and the same of spans."""

    xid: int = 0
    mark: str = ""
    gone: int = 0
    span: int = 0
    spans: int = 0


def read_horizon(connection: Connection, cursor: Cursor) -> Horizon:
    """H as it was when the cursor was read, before any row that it bounds."""
    return Horizon(xid=cursor.horizon, next=cursor.next_xid, identity=read_identity(connection))


def read_identity(connection: Connection) -> str:
    """The cluster and its timeline, neither of which changes under a connection that may write."""
    if connection not in _identities:
        (_identities[connection],) = one(connection, queries("cursor")["identity"])
    return _identities[connection]


def read_ground(connection: Connection, source: Source) -> Ground:
    """See where the rows lie now."""
    with connection.cursor(row_factory=class_row(Ground)) as rows:
        found = rows.execute(queries("cursor")["ground"], {"relation": source.table.as_string(connection)}).fetchone()
    assert found is not None
    return found


@lru_cache(maxsize=200)
def reading(*, worker: str, source: str, overlap: str | None = None) -> bytes:
    """The statement that reads the cursor, and makes it if it is the first time; with when the oldest transaction began
    that may still write, if an overlap is given.
    """
    return sql.SQL(queries("cursor")["read"]).format(worker=worker, source=source, overlap=overlap).as_bytes(None)


def read(answer: Answer, *, place: int = -1) -> Cursor:
    """The cursor from the answers to a message, the last of which it is unless said."""
    row = answer.set_result(place).fetchone()
    assert row is not None
    return Cursor(*row)


def open_window(
    connection: Connection,
    cursor: Cursor,
    horizon: Horizon,
    *,
    phase: str,
    at: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Fix H for a pass. A frontier of another cluster or timeline counts for nothing: the pass is a full one."""
    if cursor.cluster_identity not in (None, horizon.identity):
        _move(connection, cursor, "forget")
    _move(
        connection,
        cursor,
        "open_window",
        horizon=str(horizon.xid),
        identity=horizon.identity,
        phase=phase,
        at=_json(at),
        metadata=Jsonb(metadata or {}),
    )


def start(connection: Connection, cursor: Cursor, frontier: int, *, identity: str, leaves: list[int]) -> None:
    """Begin at a frontier that somebody else has reached, without a first window."""
    metadata = Jsonb({"leaves": leaves})
    _move(connection, cursor, "start", frontier=str(frontier), identity=identity, metadata=metadata)


def advance(
    connection: Connection,
    cursor: Cursor,
    *,
    at: dict[str, Any] | None,
    seen: int,
    written: int,
    coalesced: int = 0,
    watermark: tuple[str, str] | None,
    summary: dict[str, Any],
) -> None:
    """Move on inside the window; a watermark, if given, moves up and never down. It is the last word of a batch."""
    text, key = watermark or (None, None)
    moved = sql.SQL(queries("cursor")["advance"]).format(
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
    say_last(connection, moved.as_bytes(None))


def place(
    connection: Connection, cursor: Cursor, at: dict[str, Any], *, metadata: dict[str, Any] | None = None
) -> None:
    """Move on over a stretch in which there was nothing to do."""
    _move(connection, cursor, "place", at=Jsonb(at), metadata=Jsonb(metadata or {}))


def close_window(connection: Connection, cursor: Cursor, *, phase: str) -> None:
    """Everything below H is applied: F := H."""
    _move(connection, cursor, "close_window", phase=phase)


def pass_over(connection: Connection, cursor: Cursor, horizon: Horizon) -> None:
    """A window that would hold nothing: F := H."""
    _move(connection, cursor, "pass_over", horizon=str(horizon.xid))


def summarise(connection: Connection, cursor: Cursor, *, books: str) -> None:
    """Add to the account of a sweep how many objects of its source have which verdict."""
    _move(connection, cursor, "summarise", books=books)


def take_snapshot(connection: Connection, source: str, scope: str, metrics: dict[str, Any]) -> int:
    """Keep a snapshot of a source; its number."""
    given = {"source": source, "scope": scope, "metrics": Jsonb(metrics)}
    return int(one(connection, queries("cursor")["snapshot"], given)[0])


def prune(connection: Connection, cursor: Cursor, *, behind: Pruned, most: int) -> Pruned:
    """Forget some of what was remembered and F has passed since; how many, and how far it came."""
    where = {"cursor": cursor.cursor_id, "frontier": cursor.frontier, "most": most}
    return Pruned(
        *one(
            connection,
            queries("cursor")["prune"],
            {**where, "xid": behind.xid, "mark": behind.mark, "span": behind.span},
        )
    )


def rewind(connection: Connection, *, worker: str, source: str) -> None:
    """The one way back, said aloud: everything is read again from the beginning, which adds nothing that is there."""
    connection.execute("SELECT set_config('oneroof.replay', 'on', true)")
    for statement in (queries("ranges")["fold"], queries("cursor")["rewind"]):
        connection.execute(statement, {"worker": worker, "source": source})


def _move(connection: Connection, cursor: Cursor, how: str, **parameters: Any) -> None:
    who = {"worker": cursor.worker_name, "source": cursor.source_name}
    say_now(connection)
    connection.execute(queries("cursor")[how], {**who, **parameters})


def _json(value: dict[str, Any] | None) -> Jsonb | None:
    return None if value is None else Jsonb(value)
