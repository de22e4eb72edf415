"""The lossless tail (design: the tail; docs/explanation/tail/frontier.md): which rows of a source are read, and in what
pieces.

Every row version carries the xid that wrote it. A window is all versions with F <= xid < H, where every transaction
below H is finished: whatever its timestamp says, however late it committed, nothing below H can still appear. The first
window (no F) goes by keyset in the order of (timestamp, key), the rows without a timestamp last; a later one goes by
ranges of ctids, of which only the row headers are read. The newest rows are read ahead of F for the sake of speed and
remembers what it saw; completeness never rests on it.

This module composes SQL from names that the catalog has confirmed, and holds no state; what of a row is read, `columns`
says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from oneroof.sources.row_expressions import (
    DATED,
    EPOCH,
    candidate_key,
    class_mark,
    distinct_facts,
    facts_hash,
    grain,
    group_key,
    is_own,
    key_mark,
    key_text,
    key_values,
    keyset_columns,
    named,
    parts,
    ref,
    row_xid,
    text,
)
from oneroof.sources.source import Source
from oneroof.tail import open_set

# Beyond this many xids a 32-bit comparison could mislead: everything is read again instead.
FARTHEST = 2**30
# More line pointers than any page has; a ctid is then one number, and a range of them can be halved.
SLOTS = 2048


@dataclass(frozen=True, slots=True)
class Bounds:
    """The xids of a window: from the frontier, if there is one, up to below the horizon, if there is one.

    `fresh` are partitions that no earlier window has seen: all of their rows are new, whatever their xids.
    """

    frontier: int | None
    horizon: int | None
    fresh: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[bool, bool, bool]:
        """What of it is in the text of a statement."""
        return self.frontier is not None, self.horizon is not None, bool(self.fresh)

    def parameters(self) -> dict[str, Any]:
        """Both as 32-bit xids, the way `xmin` is compared."""
        return {
            "frontier": None if self.frontier is None else str(self.frontier % EPOCH),
            "horizon": None if self.horizon is None else str(self.horizon % EPOCH),
            "fresh": list(self.fresh),
        }


@dataclass(frozen=True, slots=True)
class Range:
    """A stretch of the keyset: behind `after` up to and with `upto`; values as PostgreSQL writes them."""

    part: str
    after: Sequence[str] | None
    upto: Sequence[str] | None

    @property
    def shape(self) -> tuple[str, bool, bool]:
        """What of it is in the text of a statement."""
        return self.part, self.after is not None, self.upto is not None

    def parameters(self) -> dict[str, Any]:
        ends = (("after", self.after), ("upto", self.upto))
        return {f"{name}_{i}": value for name, end in ends for i, value in enumerate(end or ())}


def tid(position: int) -> str:
    """A ctid from its number."""
    return f"({position // SLOTS},{position % SLOTS})"


def position(ctid: str) -> int:
    """The number of a ctid."""
    page, slot = ctid.strip("()").split(",")
    return int(page) * SLOTS + int(slot)


def rows(
    source: Source,
    *,
    where: sql.Composable,
    order: sql.Composable | None = None,
    limit: bool = True,
    bare: bool = False,
) -> sql.Composed:
    """SELECT the rows of a source in the one shape that every worker applies.

    Bare rows are their key, timestamp and xid alone: what is left of a row that cannot be applied.
    """
    nothing = sql.SQL("NULL::text")
    return sql.SQL(
        """SELECT {key} AS source_key, {mark} AS key_mark, {ts} AS ts_text, {ts_value} AS ts, {believed} AS believed,
       s.xmin AS source_version, {xid} AS row_xid, {own} AS own, ROW({keys}) AS place,
       {candidate} AS candidate_key, {group} AS group_key, {grain} AS grain, {mark_of_class} AS class_mark,
       {facts} AS facts_hash, {parts} AS parts, {ref} AS ref
FROM {table} AS s
WHERE {where} {order} {limit}"""
    ).format(
        key=key_text(source),
        mark=key_mark(source),
        ts=text(source.timestamp_column),
        ts_value=sql.SQL("NULL::timestamptz") if source.timestamp_column is None else named(source.timestamp_column),
        believed=_believed(source),
        xid=row_xid("s"),
        own=is_own(source),
        keys=sql.SQL(", ").join(map(named, source.key_columns)),
        candidate=nothing if bare else candidate_key(source),
        group=nothing if bare else group_key(source),
        grain=nothing if bare else grain(source),
        mark_of_class=sql.SQL("NULL::integer") if bare else class_mark(source),
        facts=sql.SQL("NULL::bigint") if bare else facts_hash(source),
        parts=sql.SQL("NULL::text[]") if bare else parts(source),
        ref=nothing if bare else ref(source),
        table=source.table,
        where=where,
        order=order or sql.SQL(""),
        limit=sql.SQL("LIMIT %(batch)s") if limit else sql.SQL(""),
    )


def keyset_end(source: Source, stretch: Range, *, counting: bool = True) -> sql.Composed:
    """Where the next batch of a stretch ends, never by OFFSET; from the index alone, where it can be, if nobody counts
    the rows below %(below)s.

    One row: rows, those of them below, the last row's columns, and those of the latest one to be believed.
    """
    names = keyset_columns(source, stretch.part)
    # In the order of their timestamps those to be believed come first, but for -infinity.
    believed = (
        sql.SQL("count(*) FILTER (WHERE c0 <= {})").format(_latest(source))
        if stretch.part == DATED and source.timestamp_column
        else sql.SQL("0")
    )
    last, mark = (
        sql.SQL("ARRAY[{}]").format(
            sql.SQL(", ").join(
                sql.SQL("(array_agg({}))[{}]::text").format(sql.SQL(f"c{i}"), at) for i in range(len(names))
            )
        )
        for at in (sql.SQL("count(*)"), believed)
    )
    return sql.SQL(
        """SELECT count(*), {below}, {last}, {mark}
FROM (SELECT {columns} FROM {table} AS s WHERE {where} ORDER BY {order} LIMIT %(batch)s) AS batch"""
    ).format(
        last=last,
        mark=mark,
        columns=sql.SQL(", ").join(
            [
                *(sql.SQL("{} AS c{}").format(named(name), sql.SQL(str(i))) for i, name in enumerate(names)),
                *([sql.SQL("s.xmin AS version")] if counting else []),
            ]
        ),
        below=sql.SQL("count(*) FILTER (WHERE NOT {})").format(_not_before("below", of=sql.SQL("version")))
        if counting
        else sql.SQL("0"),
        table=source.table,
        where=_stretch(source, stretch),
        # The rows without a timestamp are together in the index, in the order of their keys.
        order=sql.SQL(", ").join(map(named, keyset_columns(source, DATED))),
    )


def in_stretch(source: Source, stretch: Range, bounds: Bounds) -> sql.Composable:
    """Whether a row is in a stretch that `keyset_end` has measured."""
    return sql.SQL(" AND ").join([_stretch(source, stretch), in_window(bounds)])


def keyset_shares(source: Source, stretch: Range) -> sql.Composed:
    """Where to cut a stretch into %(shares)s ranges of about the same size, from a sample of %(percent)s."""
    names = keyset_columns(source, DATED)
    columns = sql.SQL(", ").join(named(name) for name in names)
    texts = sql.SQL(", ").join(sql.SQL("{}::text").format(named(name)) for name in names)
    return sql.SQL(
        """WITH sample AS (
  SELECT ARRAY[{texts}] AS at, ntile(%(shares)s) OVER (ORDER BY {columns}) AS share,
         row_number() OVER (ORDER BY {columns}) AS place
  FROM {table} AS s TABLESAMPLE SYSTEM (%(percent)s) REPEATABLE (0) WHERE {where})
SELECT DISTINCT ON (share) at FROM sample ORDER BY share, place DESC"""
    ).format(texts=texts, columns=columns, table=source.table, where=_stretch(source, stretch))


def fast_rows(
    source: Source, bounds: Bounds, stretch: Range, *, bare: bool = False, of_others: bool = False
) -> sql.Composed:
    """The newest rows by their timestamp, from %(since)s or behind a stretch's beginning on, but for those written by
    %(done)s, all of whose rows are applied, and those below the xid %(below)s that lie before the ctid %(passed)s,
    where the frontier pass has been; of others alone, if what oneroof wrote itself can wait for the frontier pass,
    which counts it. What claims to be of the future the frontier finds.
    """
    assert source.timestamp_column is not None
    column = named(source.timestamp_column)
    recent = sql.SQL("{0} >= %(since)s::text::{1} AND {0} <= {2}").format(
        column, sql.SQL(source.types[source.timestamp_column]), _latest(source)
    )
    order = sql.SQL("ORDER BY {}").format(sql.SQL(", ").join([column, *map(named, source.key_columns)]))
    others = sql.SQL("s.xmin NOT IN (SELECT x FROM unnest(%(done)s::xid[]) AS x)")
    foreign = [sql.SQL("NOT {}").format(is_own(source))] if of_others else []
    ahead = sql.SQL("NOT (s.ctid < %(passed)s::tid AND NOT {})").format(_not_before("below", of=sql.SQL("s.xmin")))
    where = sql.SQL(" AND ").join(
        [recent, _stretch(source, stretch), in_window(bounds), others, ahead, *foreign, open_set.unseen(source)]
    )
    return rows(source, where=where, order=order, bare=bare)


def news(source: Source) -> sql.Composable:
    """Whether no candidate was written from this very version of a row, or it is not as it was written; only where
    xids are of the same cluster.
    """
    return sql.SQL(
        """(SELECT true FROM oneroof.governance_candidate_state AS c WHERE c.candidate_key = {candidate}
  AND c.source_version = s.xmin AND c.source_name = %(scope)s AND c.source_key = {key} AND c.facts_hash = {facts}
  AND c.group_key = {group} AND c.grain = {grain}) IS NULL"""
    ).format(
        candidate=candidate_key(source),
        key=key_text(source),
        facts=facts_hash(source),
        group=group_key(source),
        grain=grain(source),
    )


def newest(source: Source) -> sql.Composed | None:
    """The latest timestamp as text, where an index has it."""
    if source.timestamp_column is None or not source.in_index_order:
        return None
    return sql.SQL("SELECT max({})::text FROM {} AS s").format(named(source.timestamp_column), source.table)


def item_rows(source: Source, *, bare: bool = False) -> sql.Composed:
    """The rows with the keys %(keys)s, a text array as `key_text` writes them."""
    return rows(source, where=_items(source), limit=False, bare=bare)


def item_parts(source: Source) -> sql.Composed:
    """The columns that play a part, of the rows with the keys %(keys)s, as JSON."""
    pairs = [sql.SQL("{}::text, {}").format(sql.Literal(name), text(name)) for name in dict.fromkeys(source.columns)]
    return sql.SQL("SELECT jsonb_build_object({}) FROM {} AS s WHERE {}").format(
        sql.SQL(", ").join(pairs), source.table, _items(source)
    )


def item_facts(source: Source) -> sql.Composed:
    """The distinct facts of the rows with the keys %(keys)s."""
    return distinct_facts(source, sql.SQL("WHERE {}").format(_items(source)))


def sampled_facts(source: Source) -> sql.Composed:
    """The distinct facts of a sample of %(percent)s of the pages."""
    return distinct_facts(source, sql.SQL("TABLESAMPLE SYSTEM (%(percent)s)"))


def _items(source: Source) -> sql.Composable:
    columns = [named(name) for name in source.key_columns]
    types = [sql.SQL(source.types[name]) for name in source.key_columns]
    if len(columns) == 1:
        return sql.SQL("{} = ANY (%(keys)s::text[]::{}[])").format(columns[0], types[0])
    parts = key_values(source, sql.SQL("k"))
    return sql.SQL("({}) IN (SELECT {} FROM unnest(%(keys)s::text[]) AS k)").format(
        sql.SQL(", ").join(columns), sql.SQL(", ").join(parts)
    )


def in_window(bounds: Bounds) -> sql.Composable:
    """F <= xid < H, by the age of `xmin`, which counts back from now and so survives a wrap of its 32 bits.

    The age of a bound is asked for in a query of its own, once and not for every row.
    """
    conditions: list[sql.Composable] = []
    if bounds.frontier is not None:
        newer = _not_before("frontier", of=sql.SQL("s.xmin"))
        if bounds.fresh:
            newer = sql.SQL("({} OR s.tableoid = ANY (%(fresh)s::oid[]))").format(newer)
        conditions.append(newer)
    if bounds.horizon is not None:
        conditions.append(sql.SQL("NOT {}").format(_not_before("horizon", of=sql.SQL("s.xmin"))))
    return sql.SQL(" AND ").join(conditions) if conditions else sql.SQL("true")


def _not_before(bound: str, *, of: sql.Composable) -> sql.Composable:
    """Whether an xid is at or beyond a bound. One that began after us has a negative age; one of more than 2^31 ago,
    in a row that was frozen since and keeps it, has a very negative one. Of most rows the first comparison is the last.
    """
    return sql.SQL("(age({0}) <= (SELECT age({1}::xid)) AND age({0}) >= {2})").format(
        of, sql.SQL(f"%({bound})s"), sql.Literal(-FARTHEST)
    )


def _stretch(source: Source, stretch: Range) -> sql.Composable:
    columns = keyset_columns(source, stretch.part)
    conditions = [_present(source, stretch.part)]
    for name, comparison, end in (("after", ">", stretch.after), ("upto", "<=", stretch.upto)):
        if end is not None:
            typed = [sql.SQL(f"%({name}_{i})s::{source.types[column]}") for i, column in enumerate(columns)]
            conditions.append(
                sql.SQL(f"({{}}) {comparison} ({{}})").format(
                    sql.SQL(", ").join(map(named, columns)), sql.SQL(", ").join(typed)
                )
            )
    return sql.SQL(" AND ").join(conditions)


def _present(source: Source, part: str) -> sql.Composable:
    if source.timestamp_column is None:
        return sql.SQL("true")
    presence = "IS NOT NULL" if part == DATED else "IS NULL"
    return sql.SQL(f"{{}} {presence}").format(named(source.timestamp_column))


TIDS = sql.SQL("s.ctid >= %(first)s::tid AND s.ctid < %(last)s::tid")


def _believed(source: Source) -> sql.Composable:
    """Whether a timestamp may move the watermark: finite, and not beyond now + 5 min (promise 3)."""
    if source.timestamp_column is None:
        return sql.SQL("false")
    column = named(source.timestamp_column)
    return sql.SQL("({0} IS NOT NULL AND isfinite({0}) AND {0} <= {1})").format(column, _latest(source))


def _latest(source: Source) -> sql.Composable:
    kind = sql.SQL(source.types[str(source.timestamp_column)])
    return sql.SQL("(SELECT (oneroof.gov_now() + interval '5 minutes')::{})").format(kind)
