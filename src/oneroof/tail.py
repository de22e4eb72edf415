"""The lossless tail (design: the tail; docs/explanation/tail.md): which rows of a source are read, and in what pieces.

Every row version carries the xid that wrote it. A window is all versions with F <= xid < H, where every transaction
below H is finished: whatever its timestamp says, however late it committed, nothing below H can still appear. The
first window (no F) goes by keyset in the order of (timestamp, key), the rows without a timestamp last; a later one
goes by ranges of blocks, of which only the row headers are read. The fast lane looks ahead of F for the sake of speed
and remembers what it saw; completeness never rests on it.

This module composes SQL from names that the catalog has confirmed, and holds no state. It is the only one that does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import sql

from oneroof.source import Source

EPOCH = 2**32
# Beyond this many xids a 32-bit comparison could mislead: everything is read again instead.
FARTHEST = 2**30
DATED, UNDATED = "dated", "undated"
_UNIT = "\x1f"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The xids of a window: from the frontier, if there is one, up to below the horizon, if there is one."""

    frontier: int | None
    horizon: int | None

    @property
    def lower(self) -> int | None:
        """The frontier, unless it is so old that 32 bits cannot tell."""
        if self.frontier is None or (self.horizon is not None and self.horizon - self.frontier > FARTHEST):
            return None
        return self.frontier

    def parameters(self) -> dict[str, Any]:
        """Both as 32-bit xids, the way `xmin` is compared."""
        return {
            "frontier": None if self.lower is None else str(self.lower % EPOCH),
            "horizon": None if self.horizon is None else str(self.horizon % EPOCH),
        }


def rows(source: Source, *, where: sql.Composable, order: sql.Composable | None = None) -> sql.Composed:
    """SELECT the rows of a source in the one shape that every worker applies; numbered, if they have an order."""
    return sql.SQL(
        """SELECT {key} AS source_key, {ts} AS ts_text, {ts_value}::timestamptz AS ts, s.xmin AS source_version,
       {xid} AS row_xid,
       {candidate} AS candidate_key, {group} AS group_key, {grain} AS grain, hashtextextended({facts}, 0) AS facts_hash,
       row_number() OVER ({order}) AS place
FROM {table} AS s, (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next) AS n
WHERE {where} {order} LIMIT %(batch)s"""
    ).format(
        key=key_text(source),
        ts=_text(source.timestamp_column),
        ts_value=sql.SQL("NULL") if source.timestamp_column is None else _column(source.timestamp_column),
        xid=_XID,
        candidate=_candidate_key(source),
        group=_joined([source.source_name], source.group_columns, separator="/"),
        grain=_grain(source),
        facts=_joined([], [*source.group_columns, *source.fact_columns], separator=_UNIT),
        table=source.table,
        where=where,
        order=order or sql.SQL(""),
    )


def in_window(bounds: Bounds) -> sql.Composable:
    """F <= xid < H, by the age of `xmin`, which counts back from now and so survives a wrap of its 32 bits."""
    conditions: list[sql.Composable] = []
    if bounds.lower is not None:
        conditions.append(sql.SQL("age(s.xmin) <= age(%(frontier)s::xid)"))
    if bounds.horizon is not None:
        conditions.append(sql.SQL("age(s.xmin) > age(%(horizon)s::xid)"))
    return sql.SQL(" AND ").join(conditions) if conditions else sql.SQL("true")


def keyset_batch(source: Source, bounds: Bounds, *, part: str, after: bool) -> sql.Composed:
    """The next rows of the first window in the order of (timestamp, key), or of the key alone; never OFFSET."""
    dated = part == DATED
    names = [source.timestamp_column, *source.key_columns] if dated else source.key_columns
    columns = sql.SQL(", ").join(_column(str(name)) for name in names)
    conditions = [in_window(bounds)]
    if source.timestamp_column is not None:
        presence = "IS NOT NULL" if dated else "IS NULL"
        conditions.append(sql.SQL(f"{{}} {presence}").format(_column(source.timestamp_column)))
    if after:
        typed = [sql.SQL(f"%(after_{i})s::{source.types[str(name)]}") for i, name in enumerate(names)]
        conditions.append(sql.SQL("({}) > ({})").format(columns, sql.SQL(", ").join(typed)))
    order = sql.SQL("ORDER BY {}").format(columns)
    return rows(source, where=sql.SQL(" AND ").join(conditions), order=order)


def block_batch(source: Source, bounds: Bounds) -> sql.Composed:
    """The rows of a later window in a range of blocks, without those that the fast lane has seen."""
    return rows(source, where=sql.SQL(" AND ").join([_BLOCKS, in_window(bounds), _unseen(source)]))


def block_count(source: Source, bounds: Bounds) -> sql.Composed:
    """How many rows a range of blocks holds for the window: a read of headers."""
    return sql.SQL("SELECT count(*) FROM {} AS s WHERE {} AND {}").format(source.table, _BLOCKS, in_window(bounds))


def fast_batch(source: Source, bounds: Bounds) -> sql.Composed | None:
    """The newest rows by their timestamp, from a little before the watermark on; None where there is no timestamp."""
    if source.timestamp_column is None:
        return None
    column = _column(source.timestamp_column)
    since = sql.SQL(f"%(since)s::text::{source.types[source.timestamp_column]}")
    recent = sql.SQL("{} >= {}").format(column, since)
    order = sql.SQL("ORDER BY {}").format(sql.SQL(", ").join([column, *map(_column, source.key_columns)]))
    return rows(source, where=sql.SQL(" AND ").join([recent, in_window(bounds), _unseen(source)]), order=order)


def _unseen(source: Source) -> sql.Composable:
    return sql.SQL(
        """NOT EXISTS (SELECT FROM public.governance_open_row AS o
  WHERE o.worker_name = %(worker)s AND o.source_name = %(source)s AND o.source_key = {key} AND o.row_xid = {xid})"""
    ).format(key=key_text(source), xid=_XID)


def key_text(source: Source) -> sql.Composable:
    """A row's key as one text: itself, or a JSON array where it has several columns."""
    if len(source.key_columns) == 1:
        return sql.SQL("{}::text").format(_column(source.key_columns[0]))
    columns = sql.SQL(", ").join(_column(name) for name in source.key_columns)
    return sql.SQL("jsonb_build_array({})::text").format(columns)


# The 64-bit xid behind a 32-bit xmin: the last one before the next that has these low bits.
_XID = sql.SQL(f"n.next - mod(n.next - s.xmin::text::bigint, {EPOCH})")
_BLOCKS = sql.SQL("s.ctid >= format('(%%s,0)', %(first)s)::tid AND s.ctid < format('(%%s,0)', %(last)s)::tid")


def _candidate_key(source: Source) -> sql.Composable:
    """coalesce(canonical_address, collection ‖ ':' ‖ code) (doc 39 §39.4); source and key where it has neither."""
    kind = _text(source.class_column) if source.class_column else sql.Literal(source.source_name)
    ref = _text(source.ref_column) if source.ref_column else key_text(source)
    built = sql.SQL("{} || ':' || coalesce({}, '')").format(kind, ref)
    return sql.SQL("coalesce({}, {})").format(_text(source.address_column), built) if source.address_column else built


def _grain(source: Source) -> sql.Composable:
    """A leaf is accounted under its container; roots, containers and all others count by themselves (doc 31 §6)."""
    if source.grain_column is None:
        return sql.SQL("'governed'")
    return sql.SQL("CASE WHEN {} = 'leaf' THEN 'inherited' ELSE 'governed' END").format(_column(source.grain_column))


def _joined(words: list[str], columns: list[str], *, separator: str) -> sql.Composable:
    parts: list[sql.Composable] = [sql.Literal(word) for word in words]
    parts += [sql.SQL("coalesce({}, '')").format(_text(column)) for column in columns]
    if not parts:
        return sql.SQL("''")
    between = sql.SQL(" || {} || ").format(sql.Literal(separator))
    return sql.Composed([piece for part in parts for piece in (between, part)][1:])


def _text(column: str | None) -> sql.Composable:
    return sql.SQL("NULL::text") if column is None else sql.SQL("{}::text").format(_column(column))


def _column(name: str) -> sql.Composable:
    return sql.SQL("s.{}").format(sql.Identifier(name))
