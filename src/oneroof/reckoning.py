"""Is every row of a source accounted, and once (doc 31 §9, obligations 1 and 2)?

Rows and candidates are compared by fingerprints, bucket by bucket, and inside a bucket that differs by their keys:
first each row that has no candidate is explained or is an omission; then, where that does not account for the whole
difference, each candidate that has no row. The key of a candidate follows from its row, so both sides are looked up by
an index and neither has to be held. A fingerprint is of both keys, the row's and the candidate's, so that neither can
be altered alone.

Where all buckets are equal no key is held twice. The rows of a source have each key once, so a second candidate of one
would have to stand in the place of another that is missing, with the very same sum of 64-bit hashes.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from psycopg import sql

from oneroof import tail
from oneroof.columns import candidate_key, is_own, key_text
from oneroof.db import queries
from oneroof.fingerprint import BUCKETS, bucket
from oneroof.source import Source
from oneroof.tail import TIDS, Bounds
from oneroof.walk import Walk

CANDIDATES = sql.Identifier("public", "governance_candidate_state")
# Pages at once where each row is looked up.
PAGES = 512
NOTES = 20_000
_BITS = {"smallint": 15, "integer": 31, "bigint": 63}
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(slots=True)
class Buckets:
    """Counts and sums of hashes by bucket. They add up, and are taken away again."""

    count: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    total: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, number: int, members: int, fingerprint: int, *, sign: int = 1) -> None:
        self.count[number] += sign * members
        self.total[number] += sign * int(fingerprint)

    def plus(self, other: Buckets, *, sign: int = 1) -> Buckets:
        """The sum, or the difference."""
        made = Buckets()
        for each, how in ((self, 1), (other, sign)):
            for number in each.count:
                made.add(number, each.count[number], each.total[number], sign=how)
        return made

    def differing(self, other: Buckets) -> list[int]:
        """Where the two are not the same."""
        return [
            number
            for number in range(BUCKETS)
            if (self.count[number], self.total[number]) != (other.count[number], other.total[number])
        ]

    @property
    def members(self) -> int:
        return sum(self.count.values())

    @property
    def fingerprint(self) -> int:
        return sum(self.total.values())


@dataclass(slots=True)
class Named:
    """How many there are of something, and the names of some of them."""

    count: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, count: int, names: list[str] | None, *, most: int) -> None:
        self.count += count
        self.names += (names or [])[: max(0, most - len(self.names))]


@dataclass(frozen=True, slots=True)
class Frontier:
    """How far a source was followed: every row below `xid` has been applied. None where no window has closed."""

    xid: int | None
    leaves: list[int]


@dataclass(slots=True)
class Reckoning:
    """What the rows of a source are accounted by."""

    fingerprint: Buckets
    candidates: int = 0
    tombstones: int = 0
    returned: int = 0
    duplicates: Named = field(default_factory=Named)
    retry: Named = field(default_factory=Named)
    dead_letter: Named = field(default_factory=Named)
    awaiting: Named = field(default_factory=Named)
    omitted: Named = field(default_factory=Named)
    vanished: Named = field(default_factory=Named)
    # Candidates of a row that has another; and rows that have one and are noted as another's.
    doubled: Named = field(default_factory=Named)
    noted: Named = field(default_factory=Named)
    # Candidates of what can never have been a row.
    foreign: Named = field(default_factory=Named)

    @property
    def rows(self) -> int:
        return self.fingerprint.members

    @property
    def unexplained(self) -> int:
        """What is left of the rows when everything that accounts for one is taken away; nought, if all is well."""
        without = sum(each.count for each in (self.vanished, self.doubled, self.foreign))
        standing = self.candidates - self.tombstones + self.returned - without
        others = (self.duplicates, self.retry, self.dead_letter, self.awaiting, self.omitted)
        return self.rows - standing - sum(each.count for each in others)


def reckon(walk: Walk, source: Source, candidates: Buckets, frontier: Frontier, *, names: int) -> Reckoning:
    """Compare a source with its candidates; `names` is how many keys to name of each kind."""
    who = {"source": source.source_name}
    there = Buckets()
    hashes = sql.SQL("SELECT {} AS h FROM {} AS s WHERE {} AND NOT {}")
    statement = _fingerprints(hashes.format(row_hash(source), source.table, TIDS, is_own(source)))
    for piece in walk.pieces(source.table, f"rows of {source.source_name}"):
        _fill(there, walk.rows(statement, piece))
    stood_for, gone = Buckets(), Buckets()
    for kind, buckets, of in (("represented", stood_for, "d"), ("buried", gone, "c")):
        kept = sql.SQL(queries("proof")[kind]).format(hash=kept_hash(of))
        _fill(buckets, walk.rows(_fingerprints(kept), who))
    living = candidates.plus(gone, sign=-1)
    found = Reckoning(fingerprint=there, candidates=candidates.members, tombstones=gone.members)
    differing = there.differing(living.plus(stood_for))
    found.duplicates.count = stood_for.members - sum(stood_for.count[number] for number in differing)
    if differing:
        _check_notes(walk, source, found, differing, names=names)
        lone = _rows_alone(walk, source, found, frontier, differing, names=names)
        rest = set(there.plus(lone, sign=-1).differing(living)).intersection(differing)
        if rest:
            _candidates_alone(walk, source, found, sorted(rest), names=names)
    if found.unexplained > 0 and not source.key_is_unique:
        # Rows that share a key and resolve to one candidate are taken for one.
        found.duplicates.count += found.unexplained
    return found


def _check_notes(walk: Walk, source: Source, found: Reckoning, buckets: list[int], *, names: int) -> None:
    """A row that is noted as another's must not have a candidate of its own."""
    statement = sql.SQL(queries("proof")["notes"]).format(bucket=bucket(kept_hash("d")))
    rows = sql.SQL("SELECT r.candidate_key, r.source_key FROM ({}) AS r").format(tail.item_rows(source))
    given = {"source": source.source_name, "buckets": buckets, "most": NOTES}
    after = ""
    while noted := walk.rows(statement, {**given, "after": after}):
        after = noted[-1][0]
        keys = [key for (key,) in noted if _could_be_key(source, key)]
        there = walk.rows(rows, {"keys": keys}) if keys else []
        pairs = {"candidates": [of for of, _ in there], "keys": [key for _, key in there]}
        some = [of for (of,) in walk.rows(queries("proof")["mine"], {**given, **pairs})]
        found.noted.add(len(some), some, most=names)


def _rows_alone(
    walk: Walk, source: Source, found: Reckoning, frontier: Frontier, buckets: list[int], *, names: int
) -> Buckets:
    """Explain each row that has no candidate of its own, and say which buckets they were in."""
    lone = Buckets()
    kinds = {
        "duplicate": found.duplicates,
        "waiting": found.retry,
        "dead": found.dead_letter,
        "awaiting": found.awaiting,
        "omitted": found.omitted,
    }
    beyond, bounds = is_beyond(walk, source, frontier)
    hashed = row_hash(source)
    statement = sql.SQL(queries("proof")["rows_alone"]).format(
        key=key_text(source),
        candidate=candidate_key(source),
        hash=hashed,
        bucket=bucket(sql.SQL("r.h")),
        beyond=beyond,
        table=source.table,
        where=sql.SQL("{} AND NOT {} AND {} = ANY (%(buckets)s::bigint[])").format(
            TIDS, is_own(source), bucket(hashed)
        ),
    )
    given = {"source": source.source_name, "buckets": buckets, "names": names, **bounds.parameters()}
    for piece in walk.pieces(source.table, f"rows of {source.source_name} that stand alone", pages=PAGES):
        for kind, number, count, fingerprint, some in walk.rows(statement, {**given, **piece}):
            kinds[kind].add(count, some, most=names)
            lone.add(number, count, fingerprint)
    return lone


def _candidates_alone(walk: Walk, source: Source, found: Reckoning, buckets: list[int], *, names: int) -> None:
    """Look for the row of each candidate: it is there, it is known to be gone, it has vanished, or another has it."""
    hashed = kept_hash("c")
    statement = sql.SQL(queries("proof")["candidates_alone"]).format(bucket=bucket(hashed), tids=_OF_CANDIDATES)
    resolved = sql.SQL("SELECT r.source_key, r.candidate_key, r.source_version::text FROM ({}) AS r WHERE NOT r.own")
    lookup = resolved.format(tail.item_rows(source))
    who = {"source": source.source_name}
    for piece in walk.pieces(CANDIDATES, f"candidates of {source.source_name} that stand alone", pages=PAGES):
        some = walk.rows(statement, {**who, **piece, "buckets": buckets})
        keys = [key for _, key, _, _ in some if _could_be_key(source, key)]
        rows: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for key, candidate, version in walk.rows(lookup, {"keys": keys}) if keys else []:
            rows[key].append((candidate, version))
        suspects: dict[str, list[str]] = {}
        for candidate, key, version, is_buried in some:
            if any(of == candidate for of, _ in rows[key]):
                found.returned += is_buried
            elif not is_buried and not _could_be_key(source, key):
                found.foreign.add(1, [candidate], most=names)
            elif not is_buried:
                # One version of a row resolves to one key: two candidates of it are one too many. A candidate of an
                # older version is one whose row has another key now.
                others = [of for of, by in rows[key] if by == version]
                if others:
                    suspects[candidate] = others
                else:
                    found.vanished.add(1, [candidate], most=names)
        held = {
            of
            for (of,) in walk.rows(
                queries("proof")["held"], {**who, "keys": list(chain.from_iterable(suspects.values()))}
            )
        }
        for candidate, others in suspects.items():
            kind = found.doubled if held.intersection(others) else found.vanished
            kind.add(1, [candidate], most=names)


def row_hash(source: Source) -> sql.Composed:
    """The hash of a source row and the candidate it is, over the alias `s`."""
    return _hash(candidate_key(source), key_text(source))


def kept_hash(alias: str) -> sql.Composed:
    """The same of what was kept of a row: a candidate, or a note that another stands for it."""
    return _hash(sql.SQL(f"{alias}.candidate_key"), sql.SQL(f"{alias}.source_key"))


def _hash(candidate: sql.Composable, key: sql.Composable) -> sql.Composed:
    return sql.SQL("hashtextextended({}, hashtextextended({}, 0))").format(candidate, key)


def _fingerprints(hashes: sql.Composed) -> sql.Composed:
    return sql.SQL(queries("proof")["fingerprints"]).format(bucket=bucket(sql.SQL("e.h")), hashes=hashes)


def is_beyond(walk: Walk, source: Source, frontier: Frontier) -> tuple[sql.Composable, Bounds]:
    """Whether a row was written at or beyond the frontier, or in a partition that no window has seen: not yet due.
    Before the first window has closed nothing is excused.
    """
    if frontier.xid is None:
        return sql.SQL("false"), Bounds(frontier=None, horizon=None)
    given = {"relation": source.table.as_string(walk.connection)}
    ((_, leaves, _),) = walk.rows(queries("cursor")["ground"], given)
    fresh = tuple(sorted(set(leaves).difference(frontier.leaves))) if frontier.leaves else ()
    bounds = Bounds(frontier=frontier.xid, horizon=None, fresh=fresh)
    return tail.in_window(bounds), bounds


def _fill(buckets: Buckets, rows: list[Any]) -> None:
    for number, members, fingerprint in rows:
        buckets.add(number, members, fingerprint)


def _could_be_key(source: Source, key: str) -> bool:
    """Whether a text can be asked for as a key at all."""
    types = [source.types[name] for name in source.key_columns]
    if len(types) == 1:
        return _fits(types[0], key)
    try:
        parts = json.loads(key)
    except ValueError:
        return False
    return isinstance(parts, list) and len(parts) == len(types) and all(map(_fits, types, map(str, parts)))


def _fits(kind: str, text: str) -> bool:
    if kind in _BITS:
        return bool(_WHOLE.fullmatch(text)) and -(2 ** _BITS[kind]) <= int(text) < 2 ** _BITS[kind]
    return kind != "uuid" or bool(_UUID.fullmatch(text))


_OF_CANDIDATES = sql.SQL("c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid")
