"""Cases: what a ruleset is expected to say, in a reviewed file beside the rules.

A case names facts and what must come of them. Facts that it leaves out are those of an ordinary covered object, and
expectations that it leaves out are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from oneroof.database.connection import Connection
from oneroof.errors import Usage
from oneroof.judgement import ruleset
from oneroof.judgement.ruleset import Which

HEADING = "cases"
# What a case may expect, and how a judgement calls it.
EXPECTED = {
    "verdict": "verdict",
    "undecided_reason": "undecided_reason",
    "rule": "rule_code",
    "input_state": "input_state",
    "findings": "finding_types",
}
NAMES = ("case", "facts", *EXPECTED)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that came out otherwise."""

    case: str
    what: str
    expected: Any
    found: Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many cases there were, and all that came out otherwise."""

    cases: int
    differences: list[Difference]


def run(connection: Connection, path: Path, *, which: Which = "working") -> Outcome:
    """Ask the rules about every case of a file."""
    cases = _read(path)
    ordinary = ruleset.example(connection)
    judged = ruleset.evaluate(connection, [merge(ordinary, case["facts"]) for case in cases], which=which)
    differences = [
        Difference(case["case"], word, _comparable(case[word]), _comparable(getattr(judgement, name)))
        for case, judgement in zip(cases, judged, strict=True)
        for word, name in EXPECTED.items()
        if word in case and _comparable(case[word]) != _comparable(getattr(judgement, name))
    ]
    return Outcome(len(cases), differences)


def merge(ordinary: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The given facts, and the ordinary ones where none is given."""
    merged = dict(ordinary)
    for name, value in given.items():
        known = ordinary.get(name)
        merged[name] = merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


def _read(path: Path) -> list[dict[str, Any]]:
    found = ruleset.entries(ruleset.read_text(path), heading=HEADING, name=str(path))
    for number, case in enumerate(found, start=1):
        case.setdefault("case", f"case {number}")
        case.setdefault("facts", {})
        for name in case:
            if name not in NAMES:
                near = get_close_matches(name, NAMES, n=1)
                meant = f"did you mean {near[0]}?" if near else f"names: {', '.join(NAMES)}"
                raise Usage(f"{path}: {case['case']}: a case has no {name}", hint=meant)
        if not isinstance(case["facts"], dict):
            raise Usage(f"{path}: {case['case']}: facts are a JSON object")
        if not any(word in case for word in EXPECTED):
            raise Usage(f"{path}: {case['case']}: nothing is expected", hint=f"say one of {', '.join(EXPECTED)}")
    if not found:
        raise Usage(f"{path}: there are no cases")
    return found


def _comparable(value: Any) -> Any:
    return sorted(value, key=str) if isinstance(value, list) else value
