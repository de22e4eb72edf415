"""Fingerprints: is what a source has what is accounted, without comparing a million keys (doc 31 §9)?

The keys of rows are hashed into buckets, and a bucket is a count and a sum of hashes: equal sets have equal buckets,
and sums add up and are taken away again, so that rows which another stands for are added and tombstones are subtracted.
Only inside a bucket that differs are keys compared.
"""

from __future__ import annotations

from psycopg import sql

from oneroof.columns import key_text
from oneroof.source import Source

BUCKETS = 1024


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
