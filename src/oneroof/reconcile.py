"""What an audit compares and mends: rows of a source against candidates, both ways, by buckets first (doc 31 §9).

A row and its candidate have one hash, over key, candidate key, group, grain and facts. Rows are added to their bucket,
candidates are taken away: where nothing is left, both sides say the same. What differs is looked at key by key, in one
statement, so that what moves meanwhile is never mistaken for a difference. This module composes SQL and holds no state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from psycopg import sql

from oneroof import tail
from oneroof.batch import NO_RULESET
from oneroof.columns import is_own, key_text
from oneroof.db import Connection, queries
from oneroof.fingerprint import bucket, kept_hash, row_hash
from oneroof.source import Source
from oneroof.tail import TIDS, Bounds

# Whether the row of a candidate is known to be gone, and nobody has seen it since.
_BURIED = sql.SQL(
    """(coalesce(o.facts @> '{"state": {"gone": true}}' OR o.facts @> '{"state": {"vanished": true}}', false)
  AND NOT (c.dirty AND coalesce(c.dirty_reason, '')
           IN ('source_row_changed', 'source_row_reborn', 'audit_drift', 'audit_successor')))"""
)
_CANDIDATE_TIDS = sql.SQL("c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid")


def adding_rows(source: Source) -> sql.Composed:
    """Add the rows in a range of ctids to their buckets, but for our own and those that another row stands for."""
    hashes = sql.SQL(
        """SELECT {hash} AS h FROM {table} AS s WHERE {tids} AND NOT {own}
  AND NOT EXISTS (SELECT FROM public.governance_duplicate AS d
                  WHERE d.source_name = %(scope)s AND d.source_key = {key})"""
    ).format(
        hash=row_hash(source, facts=True),
        key=key_text(source),
        table=source.table,
        tids=TIDS,
        own=is_own(source),
    )
    return _adding(hashes, 1)


def taking_candidates() -> sql.Composed:
    """Take the candidates in a range of ctids away from their buckets, but for tombstones and what has vanished."""
    hashes = sql.SQL(
        """SELECT {hash} AS h
FROM public.governance_candidate_state AS c
LEFT JOIN public.governance_object AS o ON o.candidate_key = c.candidate_key
WHERE {tids} AND c.source_name = %(scope)s AND NOT ({buried})"""
    ).format(hash=kept_hash("c", facts=True), tids=_CANDIDATE_TIDS, buried=_BURIED)
    return _adding(hashes, -1)


def found(source: Source) -> sql.Composed:
    """Rows in a range of ctids, in the buckets %(buckets)s and below the frontier, that are not accounted as they
    are: key, candidate key and what is wrong.
    """
    where = [TIDS, _in_buckets(row_hash(source, facts=True)), tail.in_window(Bounds(frontier=None, horizon=0))]
    rows = tail.rows(source, where=sql.SQL(" AND ").join(where), limit=False)
    return sql.SQL(queries("audit")["found"]).format(rows=rows, buried=_BURIED)


def bare(source: Source) -> sql.Composed:
    """The same rows, whatever is known of them, by their keys alone: for what cannot be mended."""
    where = [TIDS, _in_buckets(row_hash(source, facts=True)), tail.in_window(Bounds(frontier=None, horizon=0))]
    return tail.rows(source, where=sql.SQL(" AND ").join(where), limit=False, bare=True)


def accounted() -> sql.Composed:
    """Candidates in a range of ctids and in the buckets %(buckets)s, but for tombstones and what has vanished."""
    return sql.SQL(queries("audit")["accounted"]).format(bucket=bucket(kept_hash("c", facts=True)), buried=_BURIED)


def mend(
    connection: Connection, source: Source, keys: list[str], *, reason: str, heirs: list[str] | None = None
) -> list[tuple[str, str]]:
    """Write the candidates of these rows as the rows are; the candidate keys and source keys that were written. What is
    another row's is left to it, but for the candidates in `heirs`.
    """
    if not keys:
        return []
    given = {
        "scope": source.source_name,
        "ruleset": NO_RULESET,
        "keys": keys,
        "reason": reason,
        "heirs": heirs or [],
    }
    statement = sql.SQL(queries("audit")["mend"]).format(rows=tail.item_rows(source))
    return [(str(candidate), str(key)) for candidate, key in connection.execute(statement, given)]


def lost(connection: Connection, source: Source, candidates: list[str], keys: list[str], *, frontier: int) -> list[str]:
    """Which of these candidates, made from rows with these keys, have no such row."""
    given = {"candidates": candidates, "keys": keys, "frontier": frontier}

    def asking(rows: sql.Composed) -> sql.Composed:
        return sql.SQL(queries("audit")["lost"]).format(rows=rows)

    return [str(key) for (key,) in _by_key(connection, source, asking, given).fetchall()]


def tear(connection: Connection, source: Source, keys: list[str]) -> int:
    """Take away the notes of these rows that are no longer right; how many."""

    def asking(rows: sql.Composed) -> sql.Composed:
        return sql.SQL(queries("audit")["tear"]).format(rows=rows, buried=_BURIED)

    return _by_key(connection, source, asking, {"scope": source.source_name, "keys": keys}).rowcount


def _by_key(
    connection: Connection, source: Source, asking: Callable[[sql.Composed], sql.Composed], given: dict[str, Any]
) -> psycopg.Cursor[Any]:
    """By the index of the source's key; where what is to be looked up could not be a key at all, by its text."""
    try:
        with connection.transaction():
            return connection.execute(asking(tail.item_rows(source)), given)
    except psycopg.DataError:
        where = sql.SQL("{} = ANY (%(keys)s::text[])").format(key_text(source))
        return connection.execute(asking(tail.rows(source, where=where, limit=False)), given)


def _adding(hashes: sql.Composed, sign: int) -> sql.Composed:
    buckets = sql.SQL(
        "SELECT {bucket} AS bucket, count(*) AS members, sum(h) AS fingerprint FROM ({hashes}) AS each GROUP BY 1"
    ).format(bucket=bucket(sql.SQL("h")), hashes=hashes)
    return sql.SQL(queries("audit")["add"]).format(sign=sql.Literal(sign), buckets=buckets)


def _in_buckets(hashed: sql.Composable) -> sql.Composable:
    return sql.SQL("{} = ANY (%(buckets)s::bigint[])").format(bucket(hashed))
