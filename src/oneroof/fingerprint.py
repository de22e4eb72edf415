"""Fingerprints: is what a source has what is accounted, without comparing a million keys (doc 31 §9)?

The keys of rows are hashed into buckets, and a bucket is a count and a sum of hashes: equal sets have equal buckets,
and sums add up and are taken away again, so that rows which another stands for are added and tombstones are subtracted.
Only inside a bucket that differs are keys compared.
"""

from __future__ import annotations

from psycopg import sql

from oneroof.columns import is_own, key_text
from oneroof.source import Source

BUCKETS = 1024


def in_source(source: Source, *, where: sql.Composable | None = None) -> sql.Composed:
    """SELECT bucket, rows and sum of hashes of the rows of a source, but for those that we wrote ourselves."""
    return _buckets(
        sql.SQL("SELECT {} AS h FROM {} AS s WHERE NOT {} AND {}").format(
            source_hash(source), source.table, is_own(source), where or sql.SQL("true")
        )
    )


def accounted(*, where: sql.Composable | None = None) -> sql.Composed:
    """The same of the candidates of the source %(source)s."""
    return _buckets(
        sql.SQL(
            "SELECT {} AS h FROM public.governance_candidate_state AS c WHERE c.source_name = %(source)s AND {}"
        ).format(candidate_hash(), where or sql.SQL("true"))
    )


def represented() -> sql.Composed:
    """The same of the rows of the source %(source)s that another row's candidate stands for."""
    return _buckets(
        sql.SQL("SELECT {} AS h FROM public.governance_duplicate AS d WHERE d.source_name = %(source)s").format(
            _hash(sql.SQL("d.source_key"))
        )
    )


def buried() -> sql.Composed:
    """The same of the candidates of the source %(source)s whose rows are known to be gone: tombstones and vanished."""
    return _buckets(
        sql.SQL(
            """SELECT {} AS h FROM public.governance_object AS o
JOIN public.governance_candidate_state AS c ON c.candidate_key = o.candidate_key
WHERE c.source_name = %(source)s
  AND (o.facts @> '{{"state": {{"gone": true}}}}' OR o.facts @> '{{"state": {{"vanished": true}}}}')"""
        ).format(candidate_hash())
    )


def bucket(hashed: sql.Composable) -> sql.Composable:
    """The bucket that a hash is in."""
    return sql.SQL("({} & {})").format(hashed, sql.Literal(BUCKETS - 1))


def source_hash(source: Source) -> sql.Composable:
    """The hash of a source row, over the alias `s`."""
    return _hash(key_text(source))


def candidate_hash() -> sql.Composable:
    """The hash of a candidate, over the alias `c`."""
    return _hash(sql.SQL("c.source_key"))


def _hash(key: sql.Composable) -> sql.Composable:
    return sql.SQL("hashtextextended({}, 0)").format(key)


def _buckets(hashes: sql.Composed) -> sql.Composed:
    return sql.SQL(
        "SELECT (h & {})::int AS bucket, count(*) AS members, sum(h) AS fingerprint FROM ({}) AS each GROUP BY 1"
    ).format(sql.Literal(BUCKETS - 1), hashes)
