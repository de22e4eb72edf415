"""The proof that no object was missed, in one snapshot of the whole database (doc 31 §9).

Every source that is an inventory is a scope. Of each: (1) every row is accounted; (2) none twice; (3) the total is the
sum of the terms; (4) the ledger is what a recount finds, and each candidate has the verdict of its facts; and, if it is
asked for, (5) every fact and verdict derived again comes out as it is stored. *Balanced* is all of them; *complete* is
also that nothing is undecided and nothing is still to come.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.proof import rederivation
from oneroof.proof.certificate import GRAINS, TERMS
from oneroof.proof.obligations import (
    DERIVATION,
    INVARIANT,
    LEDGER,
    NO_DUPLICATES,
    NO_OMISSION,
    Obligation,
    Proof,
    Scope,
)
from oneroof.proof.recount import Book, Books, recount
from oneroof.proof.row_accounting import Frontier, Reckoning, reckon
from oneroof.proof.snapshot_reader import LONGEST, Progress, Walk, walking
from oneroof.sources import guarantee, registration
from oneroof.sources.source import INVENTORY, Source

NAMES = 20
_NOWHERE = Frontier(xid=None, leaves=[])
_AXES = (
    "doc 31 §9: closure by axis of information units is capped at the three axes of iu_three_axis_envelope until the "
    "host generalizes it"
)


def prove(
    connection: Connection,
    *,
    deep: bool,
    progress: Progress,
    names: int = NAMES,
    others: Sequence[Connection] = (),
    longest: float = LONGEST,
) -> Proof:
    """Prove every scope. `names` is how many keys to name of each obligation that does not hold; the other connections
    read along.
    """
    with walking(connection, doing="proving", progress=progress, others=others, longest=longest) as walk:
        ((system, timeline, database, snapshot, _, _, at, ruleset),) = walk.rows(queries("proof/prove")["identity"])
        given = {"system": system, "timeline": timeline}
        frontiers = {name: Frontier(xid, at) for name, xid, at in walk.rows(queries("proof/prove")["frontiers"], given)}
        known = {each.source_name: each for each in registration.listing(connection) if each.source_kind == INVENTORY}
        ledger = _read_ledger(walk)
        books = recount(walk, deep=deep, names=names)
        scopes = []
        for name in [*known, *sorted((set(ledger) | set(books)).difference(known))]:
            frontier = frontiers.get(name, _NOWHERE)
            kept, counted = ledger.get(name, {}), books.get(name, Books())
            scopes.append(_prove(walk, name, known.get(name), frontier, kept, counted, deep=deep, names=names))
        latest = walk.rows(queries("proof/prove")["latest"])
        return Proof(
            system=system,
            timeline=timeline,
            database=database,
            snapshot=snapshot,
            proved_at=at,
            ruleset_version=ruleset,
            is_deep=deep,
            previous_sha256=latest[0][0] if latest else None,
            scopes=scopes,
            caveats=[_AXES, *_caveats(connection, known, scopes)],
        )


def document(proof: Proof, *, version: str) -> dict[str, Any]:
    """What the certificate of a proof says, before it is sealed."""
    return {
        "format": "oneroof.certificate",
        "format_version": 1,
        "oneroof_version": version,
        "database": {"system_identifier": proof.system, "timeline": proof.timeline, "name": proof.database},
        "snapshot": proof.snapshot,
        "proved_at": proof.proved_at.isoformat(),
        "ruleset_version": proof.ruleset_version,
        "deep": proof.is_deep,
        "scopes": {scope.name: _scope(scope) for scope in proof.scopes},
        "balanced": proof.is_balanced,
        "complete": proof.is_complete,
        "caveats": proof.caveats,
        "previous_sha256": proof.previous_sha256,
    }


def _scope(scope: Scope) -> dict[str, Any]:
    found = scope.rows
    extra = {"retry": found.retry.count, "dead_letter": found.dead_letter.count}
    # Rows that never became a candidate, and those whose candidate is one of an earlier version.
    reasons = dict(scope.reasons)
    for name, count in extra.items():
        if count:
            reasons[name] = reasons.get(name, 0) + count
    return {
        "frontier": None if scope.frontier is None else str(scope.frontier),
        "rows": found.rows,
        "candidates": found.candidates,
        "duplicates": found.duplicates.count,
        "tombstones": found.tombstones,
        "vanished": found.vanished.count,
        "vanished_names": found.vanished.names,
        "returned": found.returned.count,
        "returned_names": found.returned.names,
        "unapplied": found.unapplied.count,
        "unapplied_names": found.unapplied.names,
        "awaiting": found.awaiting.count,
        "changed": found.changed,
        "omitted": found.omitted.count,
        **extra,
        "retry_names": found.retry.names,
        "dead_letter_names": found.dead_letter.names,
        "dirty": scope.dirty,
        "total": scope.total,
        "terms": {grain: {term: scope.terms[grain].get(term, 0) for term in TERMS} for grain in GRAINS},
        "undecided": dict(sorted(reasons.items())),
        "fingerprint": {"rows": found.rows, "sum": str(found.there.keys)},
        "obligations": {
            each.obligation: {"holds": each.holds, "violations": each.violations, "names": each.names}
            for each in scope.obligations
        },
        "balanced": scope.is_balanced,
        "complete": scope.is_complete,
    }


def _prove(
    walk: Walk,
    name: str,
    source: Source | None,
    frontier: Frontier,
    ledger: dict[Book, int],
    books: Books,
    *,
    deep: bool,
    names: int,
) -> Scope:
    if source is None:
        # Nothing is there to compare with. Its objects are gone with it, or were kept as they are.
        found = Reckoning(candidates=books.all.members, tombstones=books.buried.members)
        found.vanished.count = books.all.members - books.buried.members
    else:
        found = reckon(walk, source, books, frontier, deep=deep, names=names)
    terms: dict[str, dict[str, int]] = {grain: defaultdict(int) for grain in GRAINS}
    reasons: dict[str, int] = defaultdict(int)
    for (_, grain, verdict, reason), members in ledger.items():
        terms.setdefault(grain, defaultdict(int))[verdict] += members
        if verdict == "undecided":
            reasons[reason or "no_reason"] += members
    recounted: dict[str, int] = defaultdict(int)
    for (_, grain, _, _), members in books.members.items():
        recounted[grain] += members
    scope = Scope(name, frontier.xid, found, terms, reasons, recounted, books.dirty)
    scope.obligations = [
        _no_omission(found),
        _no_duplicates(found, names=names),
        _invariant(scope),
        _ledger(ledger, books, names=names),
    ]
    if deep and source is not None:
        wrong = rederivation.derive(walk, source, frontier, has_same_facts=found.has_same_facts, names=names)
        lasting = [f"{key} (would go stale too late)" for key in books.lasting_names]
        scope.obligations.append(Obligation(DERIVATION, wrong.count + books.lasting, [*lasting, *wrong.names]))
    return scope


def _no_omission(found: Reckoning) -> Obligation:
    """Obligation 1: whatever has no candidate is explained, and nothing is left over."""
    lost = abs(found.unexplained)
    names = sorted(found.omitted.names) + ([f"{lost:,} rows that no key tells"] if lost else [])
    return Obligation(NO_OMISSION, found.omitted.count + lost, names)


def _no_duplicates(found: Reckoning, *, names: int) -> Obligation:
    """Obligation 2: one candidate for a key, which its primary key sees to; one for a row; none for a row that is noted
    as another's; none for what cannot be a row; and no item of a version that was applied.
    """
    kinds = (found.doubled, found.noted, found.foreign, found.contradicted)
    named = [name for kind in kinds for name in kind.names]
    return Obligation(NO_DUPLICATES, sum(kind.count for kind in kinds), named[:names])


def _invariant(scope: Scope) -> Obligation:
    """Obligation 3: in each grain the total is the sum of the terms, and there is nothing that has no term."""
    open_grains = []
    for grain in sorted(set(scope.terms) | set(scope.recounted)):
        terms = scope.terms.get(grain, {})
        known = sum(terms.get(term, 0) for term in TERMS) if grain in GRAINS else 0
        if known != scope.recounted.get(grain, 0) or known != sum(terms.values()):
            open_grains.append(f"{grain}: {scope.recounted.get(grain, 0):,} candidates, {known:,} in the terms")
    return Obligation(INVARIANT, len(open_grains), open_grains)


def _ledger(kept: dict[Book, int], books: Books, *, names: int) -> Obligation:
    """Obligation 4: the ledger is what a recount finds; the candidates that have another verdict than what they were
    judged by are named, and then the groups that do not add up.
    """
    counted = books.members
    differing = sorted(book for book in kept.keys() | counted.keys() if kept.get(book, 0) != counted.get(book, 0))
    groups = [
        f"{group} ({grain}, {' '.join(filter(None, (verdict, reason)))}): "
        f"{kept.get((group, grain, verdict, reason), 0):,} in the ledger, "
        f"{counted.get((group, grain, verdict, reason), 0):,} counted"
        for group, grain, verdict, reason in differing[:names]
    ]
    return Obligation(LEDGER, books.wrong + len(differing), (books.names + groups)[: 2 * names])


def _read_ledger(walk: Walk) -> dict[str, dict[Book, int]]:
    kept: dict[str, dict[Book, int]] = defaultdict(dict)
    for name, group, grain, verdict, reason, members in walk.rows(queries("proof/prove")["ledger"]):
        kept[name][group, grain, verdict, reason] = members
    return kept


def _caveats(connection: Connection, known: dict[str, Source], scopes: list[Scope]) -> list[str]:
    found = [
        f"{each.source}: {each.guarantee}, since {each.why}"
        for each in guarantee.guarantees(connection)
        if each.source in known and each.guarantee != "exact"
    ]
    for scope in scopes:
        source = known.get(scope.name)
        if source is None and scope.rows.vanished.count:
            found.append(
                f"{scope.name}: no table is registered for it, so that its candidates cannot be compared with rows"
            )
        elif source is None:
            found.append(f"{scope.name}: its source was removed, and what it had is kept as tombstones")
        elif scope.frontier is None:
            found.append(f"{scope.name}: its first sweep has not ended, so that nothing is excused as not yet due")
        elif not source.key_is_unique:
            found.append(
                f"{scope.name}: no unique index of the host is on its key; rows that share one are taken for one"
            )
    return found
