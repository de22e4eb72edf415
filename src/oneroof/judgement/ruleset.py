"""Rules: what makes a verdict, as data that people review (doc 31 §3, §5 and §7; docs/explanation/judgement/rules.md).

The working copy is edited by importing a file whole. It judges nothing until it is a ruleset, which is activated by a
request that another person approves and that is bound to the hash of its content. Evaluation is the database's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from oneroof import yaml_file
from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError, Refused, Usage
from oneroof.people import requests

KIND = "ruleset.activate"
SUBJECT = "rules"
HEADING = "rules"
OPERATOR = "oneroof_operator"

Which = Literal["working", "active"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, in the words of its file."""

    rule_code: str
    rule_kind: str
    priority: int
    scope: dict[str, Any]
    predicate: str
    verdict: str | None
    undecided_reason: str | None
    input_state: str | None
    finding_type: str | None
    severity: str | None
    stale_after: str | None
    enabled: bool
    description: str

    def entry(self) -> dict[str, Any]:
        """What of it a file needs to say."""
        said = {name: value for name, value in asdict(self).items() if value is not None}
        if self.enabled:
            del said["enabled"]
        if not self.scope:
            del said["scope"]
        return said


NAMES = tuple(field.name for field in fields(Rule))


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between the working copy and the active ruleset, one field of one rule at a time."""

    rule_code: str
    change: Literal["added", "removed", "changed"]
    field: str | None
    active: Any
    working: Any


@dataclass(frozen=True, slots=True)
class Difference:
    """All that an activation would change."""

    working_version: str
    active_version: str | None
    changes: list[Change]
    detectors_added: int
    detectors_removed: int
    axes_added: int
    axes_removed: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a ruleset says about one value of facts."""

    verdict: str
    undecided_reason: str | None
    rule_code: str | None
    input_state: str
    input_rule: str | None
    finding_types: list[str]
    stale_after: str | None


def entries(text: str, *, heading: str, name: str) -> list[dict[str, Any]]:
    """What a file lists under its heading; `name` is the file's, for what is said about it."""
    try:
        return [entry.values for entry in yaml_file.read(text, heading=heading)]
    except ValueError as error:
        raise Usage(f"{name}: {error}", hint="oneroof rules export shows the form") from None


def shipped() -> list[dict[str, Any]]:
    """The rules that come with oneroof."""
    return entries(shipped_text(), heading=HEADING, name="default.yaml")


def shipped_text() -> str:
    return files("oneroof").joinpath("judgement", "default_rules.yaml").read_text(encoding="utf-8")


def listing(connection: Connection, which: Which = "working") -> list[Rule]:
    """The rules in the order in which they are asked."""
    with (
        transaction(connection, doing="listing rules", read_only=True),
        connection.cursor(row_factory=class_row(Rule)) as cursor,
    ):
        return cursor.execute(queries("judgement/ruleset")[which]).fetchall()


def export(connection: Connection) -> str:
    """The working copy as a file; importing it again changes nothing, and exporting that gives the same bytes."""
    return yaml_file.write((rule.entry() for rule in listing(connection)), heading=HEADING)


def import_file(connection: Connection, path: Path) -> bool:
    """Make the file the working copy, whole or not at all. False if it was that already."""
    found = entries(read_text(path), heading=HEADING, name=str(path))
    if not found:
        raise Usage(f"{path}: there are no rules", hint="a rule that shall not be asked has enabled: false")
    for number, entry in enumerate(found, start=1):
        for name in entry:
            if name not in NAMES:
                near = get_close_matches(name, NAMES, n=1)
                meant = f"did you mean {near[0]}?" if near else f"names: {', '.join(NAMES)}"
                raise Usage(f"{path}: rule {entry.get('rule_code', number)}: a rule has no {name}", hint=meant)
    try:
        with transaction(connection, doing=f"importing {path}", role=OPERATOR, lock_timeout=5):
            (changed,) = one(connection, queries("judgement/ruleset")["import"], {"rules": Jsonb(found)})
    except OneroofError as error:
        if isinstance(error.__cause__, psycopg.DataError):
            said = error.__cause__.diag.message_primary or str(error.__cause__)
            raise Usage(f"{path}: {said}", hint="nothing was imported; mend the file") from error
        raise
    return bool(changed)


def read_text(path: Path) -> str:
    """A file's text, or one sentence why not."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Usage(f"{path} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise Usage(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def difference(connection: Connection) -> Difference:
    """The working copy against the active ruleset."""
    with transaction(connection, doing="comparing rules", read_only=True):
        working_version, active_version = one(connection, queries("judgement/ruleset")["versions"])
        detectors, axes = (
            one(connection, queries("judgement/ruleset")["host"], {"part": part}) for part in ("detectors", "axes")
        )
        with connection.cursor(row_factory=class_row(Rule)) as cursor:
            # A disabled rule is not part of a ruleset, so switching one off is taking it away.
            working = [rule for rule in cursor.execute(queries("judgement/ruleset")["working"]) if rule.enabled]
            active = cursor.execute(queries("judgement/ruleset")["active"]).fetchall()
    return Difference(working_version, active_version, compare(active, working), *detectors, *axes)


def compare(active: Iterable[Rule], working: Iterable[Rule]) -> list[Change]:
    """Every rule that is in one and not in the other, and every field in which two of one code differ."""
    old = {rule.rule_code: asdict(rule) for rule in active}
    new = {rule.rule_code: asdict(rule) for rule in working}
    found: list[Change] = []
    for code in sorted(old.keys() | new.keys()):
        if code not in old:
            found.append(Change(code, "added", None, None, new[code]))
        elif code not in new:
            found.append(Change(code, "removed", None, old[code], None))
        else:
            found += [
                Change(code, "changed", name, old[code][name], new[code][name])
                for name in NAMES
                if old[code][name] != new[code][name]
            ]
    return found


def request_activation(connection: Connection, *, reason: str) -> int:
    """Ask for the working copy, as it is at this moment, to become the active ruleset."""
    with transaction(connection, doing="reading the rules", read_only=True):
        working, active = one(connection, queries("judgement/ruleset")["versions"])
    if working == active:
        raise Refused("the rules as they are now are active already", hint="oneroof rules diff")
    return requests.request(connection, kind=KIND, subject=SUBJECT, content={"ruleset_version": working}, reason=reason)


def example(connection: Connection) -> dict[str, Any]:
    """The facts of an ordinary covered object."""
    with transaction(connection, doing="reading the example", read_only=True):
        (facts,) = one(connection, queries("judgement/ruleset")["example"])
    return dict(facts)


def evaluate(connection: Connection, facts: Sequence[Any], *, which: Which = "working") -> list[Judgement]:
    """What the working copy, or the active ruleset, says about each of these facts, in their order."""
    parameters = {"facts": [Jsonb(each) for each in facts], "version": "working" if which == "working" else None}
    with (
        transaction(connection, doing="evaluating rules", read_only=True),
        connection.cursor(row_factory=class_row(Judgement)) as cursor,
    ):
        return cursor.execute(queries("judgement/ruleset")["evaluate"], parameters).fetchall()
