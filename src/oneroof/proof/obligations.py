"""What a proof has to show: obligations, the scopes they are shown of, and the proof as a whole (doc 31 §9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from oneroof.proof.row_accounting import Reckoning

NO_OMISSION, NO_DUPLICATES, INVARIANT, LEDGER, DERIVATION = OBLIGATIONS = (
    "no_omission",
    "no_duplicates",
    "invariant",
    "ledger",
    "derivation",
)


@dataclass(frozen=True, slots=True)
class Obligation:
    """One thing to be shown of a scope: whether it holds, how often it does not, and where, by name."""

    obligation: str
    violations: int
    names: list[str]

    @property
    def holds(self) -> bool:
        return self.violations == 0


@dataclass(slots=True)
class Scope:
    """One source and its books."""

    name: str
    frontier: int | None
    rows: Reckoning
    # By grain and verdict, from the ledger; and how many candidates a recount found by grain.
    terms: dict[str, dict[str, int]]
    reasons: dict[str, int]
    recounted: dict[str, int]
    dirty: int
    obligations: list[Obligation] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Rows that are accounted by an item that waits or is dead, and not by a candidate."""
        return self.rows.retry.count + self.rows.dead_letter.count

    @property
    def total(self) -> int:
        return sum(self.recounted.values()) + self.failed

    @property
    def undecided(self) -> int:
        """Whatever keeps the books from being complete but for rows and changes that are not yet due."""
        rows = self.rows
        unclear = self.failed + rows.vanished.count + rows.returned.count + rows.unapplied.count
        return sum(terms.get("undecided", 0) for terms in self.terms.values()) + unclear

    @property
    def is_balanced(self) -> bool:
        return all(each.holds for each in self.obligations)

    @property
    def is_complete(self) -> bool:
        not_due = self.rows.awaiting.count + self.rows.changed
        return self.is_balanced and self.undecided == 0 and not_due == 0


@dataclass(slots=True)
class Proof:
    """All scopes at one moment."""

    system: str
    timeline: int
    database: str
    snapshot: str
    proved_at: datetime
    ruleset_version: str | None
    is_deep: bool
    previous_sha256: str | None
    scopes: list[Scope]
    caveats: list[str]

    @property
    def is_balanced(self) -> bool:
        return all(scope.is_balanced for scope in self.scopes)

    @property
    def is_complete(self) -> bool:
        return all(scope.is_complete for scope in self.scopes)
