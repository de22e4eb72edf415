"""Every candidate counted again in one snapshot (doc 31 §9, obligation 4): what the ledger should say, and whether each
has the verdict of what it was judged by; and, if it is asked for, whether none holds longer than that allows.

Candidates are grouped by all that the ledger and the judgement go by, and each of the few groups is compared with its
set of facts. The few objects of which something else is known are taken out of that, and compared with what it is.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from psycopg import sql

from oneroof.database.statements import queries
from oneroof.proof.snapshot_reader import Walk
from oneroof.sources.fingerprint import NOTHING, Sum, kept_hash

CANDIDATES = sql.Identifier("oneroof", "governance_candidate_state")
OBJECTS = 20_000
Book = tuple[str, str, str, str]


@dataclass(slots=True)
class Books:
    """The candidates of one source: by group, grain, verdict and reason, and all in all."""

    members: dict[Book, int] = field(default_factory=lambda: defaultdict(int))
    dirty: int = 0
    wrong: int = 0
    names: list[str] = field(default_factory=list)
    # Verdicts that hold longer than what they were judged by allows; asked for by a deep proof.
    lasting: int = 0
    lasting_names: list[str] = field(default_factory=list)
    all: Sum = field(default_factory=Sum)
    # Those of them whose rows are known to be gone.
    buried: Sum = field(default_factory=Sum)


def recount(walk: Walk, *, deep: bool, names: int) -> dict[str, Books]:
    """The books of every source that has candidates."""
    found: dict[str, Books] = defaultdict(Books)
    hashes = {"keys": kept_hash("c"), "facts": kept_hash("c", facts=True) if deep else NOTHING}
    by_facts = sql.SQL(queries("proof/recount")["by_facts"])
    by_object = sql.SQL(queries("proof/recount")["by_object"])
    holding = sql.SQL(queries("proof/recount")["holds_longer"])
    longer = {f"by_{what}": holding.format(judged=sql.SQL(of)) for what, of in (("facts", "f"), ("object", "o"))}
    never, may_last = sql.SQL("false"), False
    counting = sql.SQL(queries("proof/recount")["recount"]).format(
        by_facts=by_facts,
        longest=sql.SQL(queries("proof/recount")["longest"] if deep else ""),
        by_time=sql.SQL(queries("proof/recount")["by_time"]) if deep else never,
        **hashes,
    )
    for name, group, grain, verdict, reason, members, dirty, wrong, keys, facts, lasts in walk.each(
        CANDIDATES, "candidates", counting
    ):
        books = found[name]
        books.members[group, grain, verdict, reason] += members
        books.dirty += dirty
        books.wrong += wrong
        books.all += Sum.of(members, keys, facts)
        may_last |= lasts
    objects = sql.SQL(queries("proof/recount")["known"]).format(
        by_facts=by_facts, by_object=by_object, by_time=longer["by_object"] if deep else never, **hashes
    )
    for page in walk.pages(objects, {}, after="", most=OBJECTS, label="single objects"):
        for _, name, taken, wrong, buried, keys, facts, lasts in page:
            if name is not None:
                may_last |= lasts
                found[name].wrong += wrong - taken
                found[name].buried += Sum.of(buried, keys, facts)
    if may_last:
        asking = sql.SQL(queries("proof/recount")["lasting"]).format(**longer)
        for name, many, some in walk.each(CANDIDATES, "verdicts that hold too long", asking, {"names": names}):
            books = found[name]
            books.lasting += many
            books.lasting_names += some[: max(0, names - len(books.lasting_names))]
    if any(books.wrong for books in found.values()):
        naming = sql.SQL(queries("proof/recount")["wrong"]).format(by_facts=by_facts, by_object=by_object)
        for name, some in walk.each(CANDIDATES, "candidates with another verdict", naming, {"names": names}):
            books = found[name]
            books.names += some[: max(0, names - len(books.names))]
    return found
