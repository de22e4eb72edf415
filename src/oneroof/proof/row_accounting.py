"""Is every row of a source accounted, and once (doc 31 §9, obligations 1 and 2)?

Rows and candidates are compared by fingerprints: as a whole, then bucket by bucket, and inside a bucket that differs by
their keys: first each row that has no candidate is explained or is an omission; then, where that does not account for
the whole difference, each candidate that has no row. The key of a candidate follows from its row, so both sides are
looked up by an index and neither has to be held.

Where the fingerprints are equal no key is held twice. The rows of a source have each key once, so a second candidate of
one would have to stand in the place of another that is missing, with the very same sum of 64-bit hashes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain

from psycopg import sql

from oneroof.database.statements import queries
from oneroof.proof.recount import CANDIDATES, Books
from oneroof.proof.snapshot_reader import Walk
from oneroof.sources.fingerprint import BUCKETS, NOTHING, Sum, bucket, kept_hash, row_hash
from oneroof.sources.row_expressions import candidate_key, could_be_key, facts_hash, is_own, key_text, row_xid
from oneroof.sources.source import Source
from oneroof.tail import row_queries
from oneroof.tail.row_queries import TIDS, Bounds

# Pages at once where each row is looked up.
PAGES = 512
NOTES = 20_000
ITEMS = 10_000


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

    there: Sum = field(default_factory=Sum)
    candidates: int = 0
    tombstones: int = 0
    # Whether every candidate was made of the facts that its row has; asked for by a deep proof.
    has_same_facts: bool = False
    # Candidates that are accounted as gone although their row is there: until the next audit has looked.
    returned: Named = field(default_factory=Named)
    # Rows that have a candidate, of an earlier version: the last one failed and is an item, and the books do not say so
    # yet.
    unapplied: Named = field(default_factory=Named)
    # Rows that have a candidate of the very version that an item says to have failed.
    contradicted: Named = field(default_factory=Named)
    duplicates: Named = field(default_factory=Named)
    retry: Named = field(default_factory=Named)
    dead_letter: Named = field(default_factory=Named)
    awaiting: Named = field(default_factory=Named)
    # Rows that have a candidate, of an earlier version, and that are not yet due either.
    changed: int = 0
    omitted: Named = field(default_factory=Named)
    vanished: Named = field(default_factory=Named)
    # Candidates of a row that has another; and rows that have one and are noted as another's.
    doubled: Named = field(default_factory=Named)
    noted: Named = field(default_factory=Named)
    # Candidates of what can never have been a row.
    foreign: Named = field(default_factory=Named)

    @property
    def rows(self) -> int:
        return self.there.members

    @property
    def unexplained(self) -> int:
        """What is left of the rows when everything that accounts for one is taken away; nought, if all is well."""
        without = sum(each.count for each in (self.vanished, self.doubled, self.foreign))
        standing = self.candidates - self.tombstones + self.returned.count - without
        others = (self.duplicates, self.retry, self.dead_letter, self.awaiting, self.omitted)
        return self.rows - standing - sum(each.count for each in others)


def reckon(walk: Walk, source: Source, books: Books, frontier: Frontier, *, deep: bool, names: int) -> Reckoning:
    """Compare a source with its candidates; `names` is how many keys to name of each kind."""
    beyond, bounds = is_beyond(walk, source, frontier)
    there, newer = _rows(walk, source, beyond, bounds, deep=deep)
    noted = _notes(walk, source, deep=deep)
    accounted = books.all - books.buried + noted
    found = Reckoning(there=there, candidates=books.all.members, tombstones=books.buried.members)
    found.duplicates.count = noted.members
    found.has_same_facts = there == accounted
    if not there.has_keys_of(accounted):
        _look_closer(walk, source, found, beyond, bounds, names=names)
    _items(walk, source, found, frontier, names=names)
    if newer:
        found.changed = _changes(walk, source, beyond, bounds)
    if found.unexplained > 0 and not source.key_is_unique:
        # Rows that share a key and resolve to one candidate are taken for one.
        found.duplicates.count += found.unexplained
    return found


def _rows(walk: Walk, source: Source, beyond: sql.Composable, bounds: Bounds, *, deep: bool) -> tuple[Sum, int]:
    """What the source has, but for rows of our own; and how many of them were written since the frontier."""
    statement = sql.SQL(
        "SELECT count(*), sum({}), sum({}), count(*) FILTER (WHERE {}) FROM {} AS s WHERE {} AND NOT {}"
    ).format(
        row_hash(source), row_hash(source, facts=True) if deep else NOTHING, beyond, source.table, TIDS, is_own(source)
    )
    total, newer = Sum(), 0
    for *part, some in walk.each(source.table, f"rows of {source.source_name}", statement, bounds.parameters()):
        total, newer = total + Sum.of(*part), newer + some
    return total, newer


def _changes(walk: Walk, source: Source, beyond: sql.Composable, bounds: Bounds) -> int:
    """How many rows were written since the frontier, and have a candidate with the facts of an earlier version."""
    statement = sql.SQL(queries("proof/row_accounting")["changes"]).format(
        candidate=candidate_key(source),
        key=key_text(source),
        facts=facts_hash(source),
        table=source.table,
        where=sql.SQL("{} AND NOT {} AND {}").format(TIDS, is_own(source), beyond),
    )
    given = {"source": source.source_name, **bounds.parameters()}
    label = f"rows of {source.source_name} since the frontier"
    return sum(count for (count,) in walk.each(source.table, label, statement, given, pages=PAGES))


def _notes(walk: Walk, source: Source, *, deep: bool) -> Sum:
    """The rows that another stands for; a note does not know their facts, so these are read."""
    statement = sql.SQL(queries("proof/row_accounting")["represented"]).format(hash=kept_hash("d"), is_held=_IS_HELD)
    reading = sql.SQL("SELECT sum({}) FROM ({}) AS r").format(kept_hash("r", facts=True), row_queries.item_rows(source))
    total = Sum()
    label = f"rows of {source.source_name} that another stands for"
    for page in walk.pages(statement, {"source": source.source_name}, after="", most=NOTES, label=label):
        for _, members, keys, some in page:
            asked = [key for key in some or [] if deep and could_be_key(source, key)]
            facts = walk.rows(reading, {"keys": asked})[0][0] if asked else 0
            total += Sum.of(members, keys, facts)
    return total


def _look_closer(
    walk: Walk, source: Source, found: Reckoning, beyond: sql.Composable, bounds: Bounds, *, names: int
) -> None:
    """Find out where the two sides differ, and explain each key there."""
    there, living = sides(walk, source)
    stood_for = Buckets()
    notes = sql.SQL("SELECT {} AS h FROM oneroof.governance_duplicate AS d WHERE d.source_name = %(source)s AND {}")
    for part in walk.rows(_in_buckets(notes.format(kept_hash("d"), _IS_HELD)), {"source": source.source_name}):
        stood_for.add(*part)
    differing = there.differing(living.plus(stood_for))
    found.duplicates.count -= sum(stood_for.count[number] for number in differing)
    _check_notes(walk, source, found, differing, names=names)
    lone = _rows_alone(walk, source, found, beyond, bounds, differing, names=names)
    rest = set(there.plus(lone, sign=-1).differing(living)).intersection(differing)
    if rest:
        _candidates_alone(walk, source, found, sorted(rest), names=names)


def sides(walk: Walk, source: Source, *, facts: bool = False) -> tuple[Buckets, Buckets]:
    """The buckets of what a source has, and of its candidates but for tombstones; with facts, only rows that no other
    row stands for.
    """
    rows = sql.SQL("SELECT {} AS h FROM {} AS s WHERE {} AND NOT {}").format(
        row_hash(source, facts=facts), source.table, TIDS, is_own(source)
    )
    if facts:
        rows += sql.SQL(
            """ AND NOT EXISTS (SELECT FROM oneroof.governance_duplicate AS d
                WHERE d.source_name = %(source)s AND d.source_key = {})"""
        ).format(key_text(source))
    living = sql.SQL(queries("proof/row_accounting")["living"]).format(hash=kept_hash("c", facts=facts))
    there, kept = Buckets(), Buckets()
    for buckets, table, hashes, label in (
        (there, source.table, rows, f"buckets of {source.source_name}"),
        (kept, CANDIDATES, living, f"buckets of the candidates of {source.source_name}"),
    ):
        for part in walk.each(table, label, _in_buckets(hashes), {"source": source.source_name}):
            buckets.add(*part)
    return there, kept


def _check_notes(walk: Walk, source: Source, found: Reckoning, buckets: list[int], *, names: int) -> None:
    """A row that is noted as another's must not have a candidate of its own."""
    statement = sql.SQL(queries("proof/row_accounting")["notes"]).format(bucket=bucket(kept_hash("d")))
    rows = sql.SQL("SELECT r.candidate_key, r.source_key FROM ({}) AS r").format(row_queries.item_rows(source))
    given = {"source": source.source_name, "buckets": buckets, "most": NOTES}
    after = ""
    while noted := walk.rows(statement, {**given, "after": after}):
        after = noted[-1][0]
        keys = [key for (key,) in noted if could_be_key(source, key)]
        there = walk.rows(rows, {"keys": keys}) if keys else []
        pairs = {"candidates": [of for of, _ in there], "keys": [key for _, key in there]}
        some = [of for (of,) in walk.rows(queries("proof/row_accounting")["mine"], {**given, **pairs})]
        found.noted.add(len(some), some, most=names)


def _rows_alone(
    walk: Walk,
    source: Source,
    found: Reckoning,
    beyond: sql.Composable,
    bounds: Bounds,
    buckets: list[int],
    *,
    names: int,
) -> Buckets:
    """Explain each row that has no candidate of its own, and say which buckets they were in."""
    lone = Buckets()
    kinds = {
        "duplicate": found.duplicates,
        "waiting": found.retry,
        "dead": found.dead_letter,
        "awaiting": found.awaiting,
        "omitted": found.omitted,
        "resolved": found.omitted,
    }
    hashed = row_hash(source)
    statement = sql.SQL(queries("proof/row_accounting")["rows_alone"]).format(
        key=key_text(source),
        candidate=candidate_key(source),
        hash=hashed,
        bucket=bucket(sql.SQL("r.h")),
        beyond=beyond,
        xid=row_xid("s"),
        table=source.table,
        where=sql.SQL("{} AND NOT {} AND {} = ANY (%(buckets)s::bigint[])").format(
            TIDS, is_own(source), bucket(hashed)
        ),
    )
    given = {"source": source.source_name, "buckets": buckets, "names": names, **bounds.parameters()}
    label = f"rows of {source.source_name} that stand alone"
    for kind, number, count, fingerprint, some, items in walk.each(source.table, label, statement, given, pages=PAGES):
        kinds[kind].add(count, resolved(some, items) if kind == "resolved" else some, most=names)
        lone.add(number, count, fingerprint)
    return lone


def resolved(names: list[str], items: list[int | None]) -> list[str]:
    """Names of rows, with the command that helps where the item of a failing row was resolved."""
    return [
        name
        if item is None
        else f"{name} (item {item} was resolved, and the row is as it was: oneroof dlq replay {item})"
        for name, item in zip(names, items, strict=True)
    ]


def _items(walk: Walk, source: Source, found: Reckoning, frontier: Frontier, *, names: int) -> None:
    """Items of rows that have a candidate: it is of an earlier version, or the item says what is not so. An item of a
    version that was followed by another one is over, and says nothing.
    """
    who = {"source": source.source_name}
    looking = sql.SQL(queries("proof/row_accounting")["untold"]).format(rows=row_queries.item_rows(source))
    items = [each for each in walk.rows(queries("proof/row_accounting")["items"], who) if could_be_key(source, each[1])]
    for first in range(0, len(items), ITEMS):
        some = items[first : first + ITEMS]
        given = dict(zip(("items", "keys", "xids"), map(list, zip(*some, strict=True)), strict=True))
        beyond = 2**62 if frontier.xid is None else frontier.xid
        for item, candidate, is_applied in walk.rows(looking, {**who, **given, "frontier": beyond}):
            if is_applied:
                words = f"{candidate} (was applied, and item {item} says it failed: oneroof dlq resolve {item})"
                found.contradicted.add(1, [words], most=names)
            else:
                found.unapplied.add(1, [candidate], most=names)


def _candidates_alone(walk: Walk, source: Source, found: Reckoning, buckets: list[int], *, names: int) -> None:
    """Look for the row of each candidate: it is there, it is known to be gone, it has vanished, or another has it."""
    hashed = kept_hash("c")
    statement = sql.SQL(queries("proof/row_accounting")["candidates_alone"]).format(
        bucket=bucket(hashed), tids=_OF_CANDIDATES
    )
    resolved = sql.SQL("SELECT r.source_key, r.candidate_key, r.source_version::text FROM ({}) AS r WHERE NOT r.own")
    lookup = resolved.format(row_queries.item_rows(source))
    who = {"source": source.source_name}
    label = f"candidates of {source.source_name} that stand alone"
    for (some,) in walk.each(CANDIDATES, label, statement, {**who, "buckets": buckets}, pages=PAGES):
        keys = [key for _, key, _, _ in some if could_be_key(source, key)]
        rows: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for key, candidate, version in walk.rows(lookup, {"keys": keys}) if keys else []:
            rows[key].append((candidate, version))
        suspects: dict[str, list[str]] = {}
        for candidate, key, version, is_buried in some:
            if any(of == candidate for of, _ in rows[key]):
                found.returned.add(int(is_buried), [candidate] if is_buried else None, most=names)
            elif not is_buried and not could_be_key(source, key):
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
                queries("proof/row_accounting")["held"], {**who, "keys": list(chain.from_iterable(suspects.values()))}
            )
        }
        for candidate, others in suspects.items():
            kind = found.doubled if held.intersection(others) else found.vanished
            kind.add(1, [candidate], most=names)


def _in_buckets(hashes: sql.Composed) -> sql.Composed:
    return sql.SQL(queries("proof/row_accounting")["buckets"]).format(bucket=bucket(sql.SQL("e.h")), hashes=hashes)


def is_beyond(walk: Walk, source: Source, frontier: Frontier) -> tuple[sql.Composable, Bounds]:
    """Whether a row was written at or beyond the frontier, or in a partition that no window has seen: not yet due.
    Before the first window has closed nothing is excused.
    """
    if frontier.xid is None:
        return sql.SQL("false"), Bounds(frontier=None, horizon=None)
    given = {"relation": source.table.as_string(walk.connection)}
    ((_, leaves, *_),) = walk.rows(queries("tail/table_files")["ground"], given)
    fresh = tuple(sorted(set(leaves).difference(frontier.leaves))) if frontier.leaves else ()
    bounds = Bounds(frontier=frontier.xid, horizon=None, fresh=fresh)
    return row_queries.in_window(bounds), bounds


# Whether the candidate that a note says to stand for a row is there.
_IS_HELD = sql.SQL(queries("proof/row_accounting")["is_held"])
_OF_CANDIDATES = sql.SQL("c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid")
