"""The open set: row versions at or beyond the frontier that were already applied, so that none is applied twice.

What the frontier pass has applied is remembered row by row (`governance_open_row`), but for what it wrote from an
inventory's versions below H, which says so itself; what the newest rows were, by transaction (`governance_open_span`):
a batch in the order of timestamp and key has all that a transaction wrote from its first row in there to its last,
since a reader that sees one row of a transaction sees them all. This module composes SQL over an alias `s` and holds no
state.
"""

from __future__ import annotations

import json
from hashlib import sha256

from psycopg import sql

from oneroof.sources.row_expressions import DATED, is_own, key_mark, key_values, keyset_columns, named, row_xid
from oneroof.sources.source import Source

# Types of a key that have a least and a greatest in every version of PostgreSQL.
_ORDERED = ("smallint", "integer", "bigint", "text")


def is_ordered(source: Source) -> bool:
    """Whether it is easily told which rows are the first and the last of some."""
    kinds = [source.types[name] for name in source.key_columns]
    return source.timestamp_column is not None and len(kinds) == 1 and kinds[0] in _ORDERED


def order(source: Source) -> str:
    """A digest of the columns by which rows are in order, with their types: of another order a span says nothing."""
    columns = [[name, source.types[name]] for name in keyset_columns(source, DATED)]
    return sha256(json.dumps(columns).encode()).hexdigest()[:16]


def unseen(source: Source) -> sql.Composable:
    """Looked up row by row, by the index: a join would read the whole open set, and every row before the limit. Beyond
    %(beyond)s nothing is remembered.
    """
    return sql.SQL(
        """({xid} > %(beyond)s OR ({spanned}(SELECT true FROM oneroof.governance_open_row AS o
  WHERE o.cursor_id = %(cursor)s AND o.row_xid = {xid} AND o.key_mark = {mark}) IS NULL))"""
    ).format(mark=key_mark(source), xid=row_xid("s"), spanned=_unspanned(source))


def unmet(source: Source) -> sql.Composable:
    """Whether rows of one transaction, of which the ends are known, are not surely all in a span."""
    assert source.timestamp_column is not None
    kind, key = (sql.SQL(source.types[name]) for name in (source.timestamp_column, source.key_columns[0]))
    return sql.SQL(
        """g.dated < g.rows OR (SELECT true FROM oneroof.governance_open_span AS o
  WHERE o.cursor_id = %(cursor)s AND o.row_xid = {xid} AND (o.with_own OR NOT g.own)
    AND CASE WHEN o.ordered_by = {order}
    THEN g.first_ts >= o.first_ts::{kind} AND (g.first_ts > o.first_ts::{kind} OR g.first_key >= o.first_key::{key})
     AND g.last_ts <= o.last_ts::{kind} AND (g.last_ts < o.last_ts::{kind} OR g.last_key <= o.last_key::{key}) END
  LIMIT 1) IS NULL"""
    ).format(xid=row_xid("g"), kind=kind, key=key, order=sql.Literal(order(source)))


def _unspanned(source: Source) -> sql.Composable:
    """What was met among the newest rows, of which rows without a timestamp never are."""
    if source.timestamp_column is None:
        return sql.SQL("")
    kind = sql.SQL(source.types[source.timestamp_column])
    here, first, last = (
        sql.SQL("({})").format(sql.SQL(", ").join(values))
        for values in (
            [named(name) for name in keyset_columns(source, DATED)],
            [sql.SQL("o.first_ts::{}").format(kind), *key_values(source, sql.SQL("o.first_key"))],
            [sql.SQL("o.last_ts::{}").format(kind), *key_values(source, sql.SQL("o.last_key"))],
        )
    )
    return sql.SQL(
        """(SELECT true FROM oneroof.governance_open_span AS o WHERE o.cursor_id = %(cursor)s AND o.row_xid = {xid}
  AND CASE WHEN o.ordered_by = {order} THEN {here} >= {first} AND {here} <= {last} END AND (o.with_own OR NOT {own})
  LIMIT 1) IS NULL AND """
    ).format(xid=row_xid("s"), order=sql.Literal(order(source)), here=here, first=first, last=last, own=is_own(source))
