"""Every verdict derived again from the rows, the classes and the rules (doc 31 §9, `prove --deep`).

A verdict follows from facts, step by step: a row has the hash of its facts, a candidate has that of its row, a set of
facts makes its own hash, a class is as the host and the owners say now, and the active rules say of a set of facts, or
of an object alone, what is stored. That each candidate has the verdict of its facts every proof checks. So whatever was
altered behind our back, one of these steps no longer holds, and the keys behind it are named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from psycopg import sql

from oneroof.database.statements import queries
from oneroof.judgement import fact_sets
from oneroof.proof.row_accounting import Frontier, Named, is_beyond, resolved, sides
from oneroof.proof.snapshot_reader import Walk
from oneroof.sources.fingerprint import bucket, row_hash
from oneroof.sources.row_expressions import candidate_key, facts_hash, grain, group_key, is_own, key_text, row_xid
from oneroof.sources.source import Source
from oneroof.tail.row_queries import TIDS

# Pages at once where each row's candidate is looked up, and sets of facts at once.
PAGES = 512
SETS = 20_000
JUDGED = 1_000
_FIRST = -(2**63)


def derive(walk: Walk, source: Source, frontier: Frontier, *, has_same_facts: bool, names: int) -> Named:
    """What does not follow from what it is said to follow from: keys of candidates, and classes."""
    wrong = Named()
    for count, some in (
        *(() if has_same_facts else _changed(walk, source, frontier, names=names)),
        *_classes(walk, source),
        *_of_sets(walk, source, _made(walk, source), names=names),
        *_of_sets(walk, source, _judged(walk, source), names=names),
        *_objects(walk, source),
    ):
        wrong.add(count, some, most=names)
    return wrong


def _changed(walk: Walk, source: Source, frontier: Frontier, *, names: int) -> Iterator[tuple[int, list[str]]]:
    """Candidates that were made of other facts than their row has, although every change was applied."""
    there, living = sides(walk, source, facts=True)
    beyond, bounds = is_beyond(walk, source, frontier)
    statement = sql.SQL(queries("proof/rederivation")["changed"]).format(
        key=key_text(source),
        candidate=candidate_key(source),
        facts=facts_hash(source),
        group=group_key(source),
        grain=grain(source),
        xid=row_xid("s"),
        table=source.table,
        where=sql.SQL("{} AND NOT {} AND NOT ({}) AND {} = ANY (%(buckets)s::bigint[])").format(
            TIDS, is_own(source), beyond, bucket(row_hash(source, facts=True))
        ),
    )
    buckets = there.differing(living)
    given = {"source": source.source_name, "names": names, "buckets": buckets, **bounds.parameters()}
    for count, some, items in walk.each(source.table, f"facts of {source.source_name}", statement, given, pages=PAGES):
        if count:
            yield count, resolved(some, items)


def _classes(walk: Walk, source: Source) -> Iterator[tuple[int, list[str]]]:
    """Classes of which something else is known now."""
    for (name,) in walk.rows(queries("proof/rederivation")["classes"], {"source": source.source_name}):
        yield 1, [f"class {name}"]


def _made(walk: Walk, source: Source) -> Iterator[int]:
    """Sets of facts that no longer make the hash they are kept under."""
    yield from _keyset(walk, source, fact_sets.making(source), after=_FIRST, most=SETS)


def _judged(walk: Walk, source: Source) -> Iterator[int]:
    """Sets of facts of which the active rules say something else than what is stored."""
    yield from _keyset(walk, source, queries("proof/rederivation")["judged"], after=_FIRST, most=JUDGED)


def _objects(walk: Walk, source: Source) -> Iterator[tuple[int, list[str]]]:
    """The same of single objects."""
    for key in _keyset(walk, source, queries("proof/rederivation")["objects"], after="", most=JUDGED):
        yield 1, [key]


def _of_sets(walk: Walk, source: Source, hashes: Iterator[int], *, names: int) -> Iterator[tuple[int, list[str]]]:
    """The members of a fact set; one without members does no harm."""
    for found in hashes:
        given = {"source": source.source_name, "hashes": [found], "names": names}
        ((count,),) = walk.rows(queries("proof/rederivation")["member_count"], given)
        if count:
            yield count, [key for (key,) in walk.rows(queries("proof/rederivation")["members"], given)]


def _keyset(walk: Walk, source: Source, statement: Any, *, after: Any, most: int) -> Iterator[Any]:
    given = {"source": source.source_name, "since": None}
    for page in walk.pages(statement, given, after=after, most=most, label=f"rules on {source.source_name}"):
        for _, _, wrong in page:
            yield from wrong or []
