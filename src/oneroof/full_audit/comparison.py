"""What an audit compares and mends: rows of a source against candidates, both ways (doc 31 §5 and §9).

A row and its candidate have one hash of their facts and one of their keys. The latter are added up for every set of
facts, of the rows and of the candidates: where the sums are equal, both sides say the same. What is in sets that have
drifted is added up again by buckets of hashes, and in buckets that differ keys are looked at, in one statement, so that
what moves meanwhile is never mistaken for a difference. This module composes SQL and holds no state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from oneroof.candidates import apply_batch
from oneroof.candidates.apply_batch import NO_RULESET
from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.sources.fingerprint import kept_hash, row_hash
from oneroof.sources.row_expressions import facts_hash, is_own, key_text, named
from oneroof.sources.source import Source
from oneroof.tail import row_queries
from oneroof.tail.row_queries import SLOTS, TIDS, Bounds, tid

# Each piece writes a row of ours for every bucket: there are some for every key that both sides are known to be apart
# by, within limits.
LEAST_BUCKETS, MOST_BUCKETS = 4_096, 65_536
# How a row can fail to be accounted as it is.
WRONG = ("missing", "drifted", "reborn", "duplicates", "noted")
# Whether the row of a candidate is known to be gone, and was not seen since.
_BURIED = sql.SQL(
    """(coalesce(o.facts @> '{"state": {"gone": true}}' OR o.facts @> '{"state": {"vanished": true}}', false)
  AND NOT (c.dirty AND coalesce(c.dirty_reason, '') = ANY (oneroof.gov_applied_reasons())))"""
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of ctids, as numbers, and where the next one begins, if there is one."""

    first: int
    last: int
    next: int | None

    @property
    def given(self) -> dict[str, str]:
        return {"first": tid(self.first), "last": tid(self.last)}

    def halves(self, end: int) -> tuple[Piece, Piece]:
        """The same in two, of a table that is known to end there; cut between two pages."""
        middle = (self.first + min(self.last, end)) // 2
        middle -= middle % SLOTS
        return Piece(self.first, middle, middle), Piece(middle, self.last, self.next)

    def then(self, **more: str) -> dict[str, Any] | None:
        """Where the step goes on, if it does."""
        return None if self.next is None else {"tid": self.next, **more}


@dataclass(frozen=True, slots=True)
class Done:
    """What a step of the audit did: where it goes on, or None if it is through; and the counts of it."""

    at: dict[str, Any] | None
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Aside:
    """A row of an item: what it is, of which version, and what is wrong with how it is accounted, if anything is."""

    source_key: str
    candidate_key: str
    row_xid: int
    wrong: str | None


def buckets(members: int, *, apart: int, few: int) -> int:
    """Into how many buckets so many are put, a power of two. One means that all are looked at as they are: they are
    few, or both sides are so far apart that hardly a bucket would be the same.
    """
    if members <= few or apart > MOST_BUCKETS:
        return 1
    return min(MOST_BUCKETS, max(LEAST_BUCKETS, 2 << apart.bit_length()))


def summing_rows(source: Source) -> sql.Composed:
    """What the rows in a range of ctids add up to, set of facts by set of facts, but for our own."""
    rows = sql.SQL("SELECT {} AS facts_hash, {} AS h, {} AS newest FROM {} AS s WHERE {} AND NOT {}").format(
        facts_hash(source), row_hash(source), _newest(source), source.table, TIDS, is_own(source)
    )
    return sql.SQL(queries("full_audit/comparison")["row_sums"]).format(rows=rows)


def adding_rows() -> sql.Composed:
    """Add what was found to the sets of facts."""
    return sql.SQL(queries("full_audit/comparison")["rows"]).format(
        sums=sql.SQL(queries("full_audit/comparison")["given_rows"]), sign=sql.SQL("1")
    )


def take_away(connection: Connection, source: Source, keys: list[str]) -> None:
    """Take rows that another row stands for away from their sets again."""

    def asking(rows: sql.Composed) -> sql.Composed:
        one_by_one = sql.SQL(
            "SELECT r.facts_hash, 1 AS many, {} AS total, NULL::timestamptz AS newest FROM ({}) AS r WHERE NOT r.own"
        ).format(kept_hash("r"), rows)
        return sql.SQL(queries("full_audit/comparison")["rows"]).format(sums=one_by_one, sign=sql.SQL("-1"))

    _by_key(connection, source, asking, {"scope": source.source_name, "keys": keys})


def summing_candidates() -> sql.Composed:
    """What the candidates in a range of ctids add up to, by their facts, groups and verdicts."""
    return sql.SQL(queries("full_audit/comparison")["candidate_sums"]).format(hash=kept_hash("c"))


def looking_at_objects() -> sql.Composed:
    """Look at some of the objects of which something else is known."""
    return sql.SQL(queries("full_audit/comparison")["objects"]).format(hash=kept_hash("c"), buried=_BURIED)


def rows_in_buckets(source: Source) -> sql.Composed:
    """Add the rows in a range of ctids with the facts %(drifted)s to their buckets, but for our own."""
    hashes = sql.SQL(queries("full_audit/comparison")["row_hashes"]).format(
        hash=row_hash(source),
        facts=facts_hash(source),
        table=source.table,
        where=sql.SQL("{} AND NOT {}").format(TIDS, is_own(source)),
    )
    return _buckets(hashes, sign=1)


def take_noted(connection: Connection, source: Source, given: dict[str, Any]) -> None:
    """Take the rows %(keys)s that another row stands for away from their buckets again."""

    def asking(rows: sql.Composed) -> sql.Composed:
        noted = sql.SQL(queries("full_audit/comparison")["noted_hashes"]).format(
            hash=kept_hash("r"), rows=rows, buried=_BURIED
        )
        return _buckets(noted, sign=-1)

    _by_key(connection, source, asking, given)


def candidates_in_buckets() -> sql.Composed:
    """Take the candidates in a range of ctids with the facts %(drifted)s away from their buckets."""
    return _buckets(sql.SQL(queries("full_audit/comparison")["candidate_hashes"]).format(hash=kept_hash("c")), sign=-1)


def buried_in_buckets() -> sql.Composed:
    """Give what was taken away of the objects %(keys)s back, where their rows are known to be gone."""
    return _buckets(
        sql.SQL(queries("full_audit/comparison")["buried_hashes"]).format(hash=kept_hash("c"), buried=_BURIED), sign=1
    )


def found(source: Source) -> sql.Composed:
    """Rows in a range of ctids, with the facts %(drifted)s, in buckets that differ and below the frontier, that are not
    accounted as they are: key, candidate key and what is wrong.
    """
    rows = row_queries.rows(source, where=_suspected_rows(source), limit=False)
    return sql.SQL(queries("full_audit/comparison")["found"]).format(rows=rows, buried=_BURIED)


def bare(source: Source) -> sql.Composed:
    """The same rows, whatever is known of them, by their keys alone: for what cannot be mended."""
    return row_queries.rows(source, where=_suspected_rows(source), limit=False, bare=True)


def accounted() -> sql.Composed:
    """Candidates in a range of ctids, with the facts %(drifted)s and in buckets that differ, but for tombstones and
    what has vanished.
    """
    suspected = _suspected(kept_hash("c"))
    return sql.SQL(queries("full_audit/comparison")["accounted"]).format(suspected=suspected, buried=_BURIED)


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
    statement = sql.SQL(queries("full_audit/comparison")["mend"]).format(rows=row_queries.item_rows(source))
    return [(str(candidate), str(key)) for candidate, key in connection.execute(statement, given)]


def put_right(connection: Connection, source: Source, rows: Sequence[tuple[str, str, str]]) -> dict[str, int]:
    """Account for rows as they are: key, candidate key and what is wrong with each; how many of each kind. A row that
    has a candidate of its own has no note; of several with one key the first has it.
    """
    what: dict[str, list[str]] = {kind: [] for kind in WRONG}
    for key, _, kind in rows:
        what[kind].append(key)
    mend(connection, source, what["missing"] + what["drifted"], reason="audit_drift")
    heirs = [candidate for _, candidate, kind in rows if kind == "reborn"]
    mend(connection, source, what["reborn"], reason="source_row_reborn", heirs=heirs)
    unnote(connection, source, what["noted"] + what["drifted"] + what["reborn"] + what["missing"])
    doubtful = what["duplicates"] + what["reborn"] + what["missing"]
    if doubtful:
        for does in (apply_batch.taking, apply_batch.noting_duplicates):
            statement = does(row_queries.item_rows(source)).as_bytes(None)
            apply_batch.put(connection, source, statement, {"keys": doubtful})
    return {kind: len(keys) for kind, keys in what.items()}


def put_aside(connection: Connection, source: Source, keys: list[str]) -> list[Aside]:
    """The rows with these keys as they are, and what is wrong with how they are accounted."""
    statement = sql.SQL(queries("full_audit/comparison")["aside"]).format(
        rows=row_queries.item_rows(source), buried=_BURIED
    )
    return [Aside(*row) for row in connection.execute(statement, {"scope": source.source_name, "keys": keys})]


def unnote(connection: Connection, source: Source, keys: list[str]) -> None:
    """Forget that another row stands for these."""
    if keys:
        connection.execute(queries("full_audit/comparison")["unnote"], {"scope": source.source_name, "keys": keys})


def lost(connection: Connection, source: Source, candidates: list[str], keys: list[str], *, frontier: int) -> list[str]:
    """Which of these candidates, made from rows with these keys, have no such row."""
    given = {"candidates": candidates, "keys": keys, "frontier": frontier}

    def asking(rows: sql.Composed) -> sql.Composed:
        return sql.SQL(queries("full_audit/comparison")["lost"]).format(rows=rows)

    return [str(key) for (key,) in _by_key(connection, source, asking, given).fetchall()]


def tear(connection: Connection, source: Source, keys: list[str]) -> int:
    """Take away the notes of these rows that are no longer right; how many."""

    def asking(rows: sql.Composed) -> sql.Composed:
        return sql.SQL(queries("full_audit/comparison")["tear"]).format(rows=rows, buried=_BURIED)

    return _by_key(connection, source, asking, {"scope": source.source_name, "keys": keys}).rowcount


def _by_key(
    connection: Connection, source: Source, asking: Callable[[sql.Composed], sql.Composed], given: dict[str, Any]
) -> psycopg.Cursor[Any]:
    """By the index of the source's key; where what is to be looked up could not be a key at all, by its text."""
    try:
        with connection.transaction():
            return connection.execute(asking(row_queries.item_rows(source)), given)
    except psycopg.DataError:
        where = sql.SQL("{} = ANY (%(keys)s::text[])").format(key_text(source))
        return connection.execute(asking(row_queries.rows(source, where=where, limit=False)), given)


def _suspected_rows(source: Source) -> sql.Composed:
    below = row_queries.in_window(Bounds(frontier=None, horizon=0))
    return sql.SQL(" AND ").join([TIDS, _drifted(source), _suspected(row_hash(source)), below])


def _buckets(hashes: sql.Composed, *, sign: int) -> sql.Composed:
    return sql.SQL(queries("full_audit/comparison")["buckets"]).format(hashes=hashes, sign=sql.Literal(sign))


def _suspected(hashed: sql.Composable) -> sql.Composed:
    return sql.SQL(queries("full_audit/comparison")["suspected"]).format(hash=hashed)


def _drifted(source: Source) -> sql.Composed:
    return sql.SQL("{} = ANY (%(drifted)s::bigint[])").format(facts_hash(source))


def _newest(source: Source) -> sql.Composable:
    if source.timestamp_column is None:
        return sql.SQL("NULL::timestamptz")
    return sql.SQL("{}::timestamptz").format(named(source.timestamp_column))
