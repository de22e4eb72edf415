"""Matches: what each rule does with all facts that are known, and which may be a mistake
(docs/explanation/judgement/rules.md).

The database counts, piece by piece, with the very matching that judges. A rule that matches nothing, one that matches
everything and one that never decides are warned of; nothing is refused for it, since tomorrow's facts may be others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.judgement import ruleset
from oneroof.judgement.ruleset import Rule, Which

# So many fact sets, and so many single objects, are looked at; so many in one statement.
MOST = 20_000
PIECE = 2_000
STATEMENT = 5.0

Word = Literal["never", "always", "shadowed", ""]
# Where each kind of known facts begins: before every hash, before every key.
_FIRST: dict[str, dict[str, Any]] = {"fact_sets": {"hash": -(2**63), "source": ""}, "objects": {"key": ""}}


@dataclass(frozen=True, slots=True)
class Count:
    """What one rule did: of how many facts it was asked, how many matched, how many it decided. Every match of a
    finding rule counts, so it decides nothing.
    """

    rule_code: str
    rule_kind: str
    priority: int
    in_scope: int
    matches: int
    decides: int | None


@dataclass(frozen=True, slots=True)
class Checked(Count):
    """And what is odd about that, in a word."""

    word: Word


@dataclass(frozen=True, slots=True)
class Oddity:
    """One rule that may be a mistake, in a sentence; and whether it is active as it is, or differs from that."""

    rule_code: str
    word: Word
    is_active: bool
    text: str

    @property
    def is_patient(self) -> bool:
        """A rule that two people activated and that waits for what has not happened yet: hardly news."""
        return self.is_active and self.word == "never"


@dataclass(frozen=True, slots=True)
class Check:
    """All enabled rules against what is known: fact sets, and single objects with facts of their own."""

    known: int
    fact_sets: int
    objects: int
    is_sample: bool
    rules: list[Checked]
    warnings: list[Oddity]


def check(connection: Connection, which: Which = "working") -> Check:
    """What the working copy, or the active ruleset, does with all that is known. Rules that are not active as they are
    are warned of first, and last those that wait for what has not happened yet.
    """
    known, tally, left_out = dict[str, int](), Counter[tuple[str, str]](), False
    with transaction(
        connection, doing="checking the rules", read_only=True, one_snapshot=True, statement_timeout=STATEMENT
    ):
        changed = (
            {change.rule_code for change in ruleset.difference(connection).changes} if which == "working" else set()
        )
        enabled = [rule for rule in ruleset.listing(connection, which) if rule.enabled]
        for kind in _FIRST:
            known[kind], is_more = _read(connection, kind, which, tally)
            left_out = left_out or is_more
    total = sum(known.values())
    checked = judge([_count(rule, tally) for rule in enabled], known=total)
    warnings = [
        Oddity(each.rule_code, each.word, each.rule_code not in changed, sentence(each, known=total))
        for each in checked
        if each.word
    ]
    warnings.sort(key=lambda warning: (warning.is_active, warning.is_patient))
    return Check(total, known["fact_sets"], known["objects"], left_out, checked, warnings)


def judge(counts: Sequence[Count], *, known: int) -> list[Checked]:
    """A word for each rule; they are given in the order in which they are asked.

    The last that is asked for a verdict, or for an input state, may match everything: that is what it is for. It may
    also be left with nothing to decide, unless another rule alone takes everything from it.
    """
    last = {count.rule_kind: count.rule_code for count in counts if count.rule_kind != "finding"}
    broad = Counter(count.rule_kind for count in counts if count.matches == known)

    def word(count: Count) -> Word:
        is_broad = count.matches == known
        if not known:
            return ""
        if not count.matches:
            return "never"
        if is_broad and last.get(count.rule_kind) == count.rule_code and (count.decides or broad[count.rule_kind] == 1):
            return ""
        if count.decides == 0:
            return "shadowed"
        return "always" if is_broad else ""

    return [Checked(c.rule_code, c.rule_kind, c.priority, c.in_scope, c.matches, c.decides, word(c)) for c in counts]


def sentence(rule: Checked, *, known: int) -> str:
    """What is odd about a rule."""
    match rule.word:
        case "never" if not rule.in_scope:
            return f"rule {rule.rule_code} never matches: none of the {known} known facts is in its scope"
        case "never":
            return f"rule {rule.rule_code} never matches: it says no to all {rule.in_scope} known facts in its scope"
        case "always":
            return f"rule {rule.rule_code} always matches: it says yes to all {known} known facts"
        case "shadowed":
            return (
                f"rule {rule.rule_code} is shadowed: it matches {rule.matches} of {known} known facts, "
                "and rules before it decide them all"
            )
        case "":
            return f"rule {rule.rule_code} matches {rule.matches} of {known} known facts"


def _count(rule: Rule, tally: Counter[tuple[str, str]]) -> Count:
    code = rule.rule_code
    decides = None if rule.rule_kind == "finding" else tally[code, "decides"]
    return Count(code, rule.rule_kind, rule.priority, tally[code, "in_scope"], tally[code, "matches"], decides)


def _read(connection: Connection, kind: str, which: Which, tally: Counter[tuple[str, str]]) -> tuple[int, bool]:
    """Add up what every rule does with known facts of a kind: how many there were, and whether there are more."""
    place, known = _FIRST[kind], 0
    while True:
        most = PIECE if known < MOST else 1
        given = {**place, "most": most, "version": "working" if which == "working" else None}
        count, place, counts = one(connection, queries("judgement/ruleset_check")[kind], given)
        if known >= MOST:
            return known, count > 0
        known += count
        for each in counts or []:
            tally.update({(each["rule_code"], name): each[name] or 0 for name in ("in_scope", "matches", "decides")})
        if count < most:
            return known, False
