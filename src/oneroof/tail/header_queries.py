"""What a pass asks of row headers: how many rows of a window a range of ctids holds, where they end, where they lie.

Every statement reads the headers of a range, and no more of a row than tells whether it was met among the newest rows.
It is in the order of ctids, whatever the scan does. This module composes SQL and holds no state.
"""

from __future__ import annotations

from psycopg import sql

from oneroof.sources.row_expressions import is_own, named
from oneroof.sources.source import Source
from oneroof.tail import open_set, row_queries
from oneroof.tail.row_queries import Bounds


def tid_rows(source: Source, bounds: Bounds, *, bare: bool = False, written: bool = False) -> sql.Composed:
    """The rows of a later window at the ctids that `tid_found` has found, without those that were applied already; of
    which some may be known by what was written from them alone.
    """
    listed = sql.SQL("s.ctid = ANY (%(tids)s::tid[])")
    news = [row_queries.news(source)] if written else []
    where = sql.SQL(" AND ").join([listed, row_queries.in_window(bounds), open_set.unseen(source), *news])
    return row_queries.rows(source, where=where, limit=False, bare=bare)


def tid_found(source: Source, bounds: Bounds) -> sql.Composed:
    """Where in a range of ctids the rows of a later window lie: one read of headers. In the order of ctids, whatever
    the scan does, and %(most)s at the most: where there are more, up to the ctid that is answered first.

    One row: that ctid, all of theirs, and how many. Rows in several partitions may have one ctid, and are not parted.
    Rows of a transaction are not answered if all of its rows here were met among the newest rows.
    """
    knows = bounds.frontier is not None and open_set.is_ordered(source)
    columns = {"ts": named(str(source.timestamp_column)), "key": named(source.key_columns[0]), "own": is_own(source)}
    more = [sql.SQL(", {} AS {}").format(what, sql.Identifier(name)) for name, what in columns.items() if knows]
    unmet: sql.Composable = sql.SQL("true")
    if knows:
        unmet = sql.SQL(
            """f.xmin NOT IN (
    SELECT g.xmin FROM (SELECT t.xmin, count(*) AS rows, count(t.ts) AS dated, bool_or(t.own) AS own,
                               min(t.ts) AS first_ts, max(t.ts) AS last_ts, min(t.key) AS first_key,
                               max(t.key) AS last_key FROM found AS t GROUP BY 1) AS g
    WHERE NOT ({}))"""
        ).format(open_set.unmet(source))
    return sql.SQL(
        """WITH found AS MATERIALIZED (
  SELECT s.ctid AS tid, s.xmin{more} FROM {table} AS s WHERE {tids} AND {window} ORDER BY s.ctid LIMIT %(most)s + 1
), cut AS (
  SELECT CASE WHEN count(*) > %(most)s THEN max(f.tid) END AS tid FROM found AS f
)
SELECT c.tid::text, n.tids::text, n.rows
FROM cut AS c CROSS JOIN LATERAL (
  SELECT array_agg(f.tid ORDER BY f.tid) AS tids, count(*) AS rows FROM found AS f
  WHERE (c.tid IS NULL OR f.tid < c.tid) AND {unmet}) AS n"""
    ).format(
        more=sql.Composed(more),
        table=source.table,
        tids=row_queries.TIDS,
        window=row_queries.in_window(bounds),
        unmet=unmet,
    )


def tid_count(source: Source, bounds: Bounds) -> sql.Composed:
    """How many rows a range of ctids holds for the window: a read of headers."""
    return sql.SQL("SELECT count(*) FROM {} AS s WHERE {} AND {}").format(
        source.table, row_queries.TIDS, row_queries.in_window(bounds)
    )


def tid_cut(source: Source, bounds: Bounds) -> sql.Composed:
    """Where in a range of ctids, which holds more rows for the window than %(most)s, those end: the ctid of the next
    one, and how many there are before it. In the order of ctids, whatever the scan does: what lies before is all there.
    """
    return sql.SQL(
        """WITH cut AS MATERIALIZED (
  SELECT s.ctid AS tid FROM {} AS s WHERE {} AND {} ORDER BY s.ctid LIMIT %(most)s + 1)
SELECT e.tid::text, (SELECT count(*) FROM cut AS c WHERE c.tid < e.tid)
FROM (SELECT max(c.tid) AS tid FROM cut AS c) AS e"""
    ).format(source.table, row_queries.TIDS, row_queries.in_window(bounds))
