"""Fingerprints: is what a source has what is accounted, without comparing a million keys (doc 31 §9)?

A row and its candidate have one hash, of the row's key and the candidate's, so that neither can be altered alone; and
another one, of the row's facts too. A fingerprint is a count and a sum of hashes: equal sets have equal ones, and they
add up and are taken away again, so that rows which another stands for are added and tombstones are subtracted. Where
two differ, hashes are put into buckets, and only inside a bucket that differs are keys compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from oneroof.sources.row_expressions import candidate_key, facts_hash, key_text
from oneroof.sources.source import Source

BUCKETS = 1024
NOTHING = sql.SQL("NULL::bigint")


@dataclass(frozen=True, slots=True)
class Sum:
    """So many, the sum of the hashes of their keys, and of the hashes of keys and facts."""

    members: int = 0
    keys: int = 0
    facts: int = 0

    @classmethod
    def of(cls, members: object, keys: object, facts: object) -> Sum:
        """From what PostgreSQL says, where nothing has no sum."""
        return cls(*(int(str(each)) if each is not None else 0 for each in (members, keys, facts)))

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.members + other.members, self.keys + other.keys, self.facts + other.facts)

    def __sub__(self, other: Sum) -> Sum:
        return Sum(self.members - other.members, self.keys - other.keys, self.facts - other.facts)

    def has_keys_of(self, other: Sum) -> bool:
        return (self.members, self.keys) == (other.members, other.keys)


def bucket(hashed: sql.Composable) -> sql.Composable:
    """The bucket that a hash is in."""
    return sql.SQL("({} & {})").format(hashed, sql.Literal(BUCKETS - 1))


def row_hash(source: Source, *, facts: bool = False) -> sql.Composed:
    """The hash of a source row and the candidate it is, over the alias `s`; with its facts, if asked for."""
    return _hash(candidate_key(source), key_text(source), facts_hash(source) if facts else None)


def kept_hash(alias: str, *, facts: bool = False) -> sql.Composed:
    """The same of what was kept of a row: a candidate, or a note that another stands for it."""
    of = sql.SQL(f"{alias}.facts_hash") if facts else None
    return _hash(sql.SQL(f"{alias}.candidate_key"), sql.SQL(f"{alias}.source_key"), of)


def _hash(candidate: sql.Composable, key: sql.Composable, facts: sql.Composable | None) -> sql.Composed:
    seed = sql.SQL("0") if facts is None else facts
    return sql.SQL("hashtextextended({}, hashtextextended({}, {}))").format(candidate, key, seed)
