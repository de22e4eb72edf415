"""Owners: which person or office answers for what, imported from a file and exported to one (doc 31 §6).

An owner holds one of six responsibilities of an object, a collection, a class or a scope; the nearest level that has
an owner wins, and two owners there are a conflict, which stays visible (docs/explanation/people/ownership.md). An
import is one statement: all of the file or none of it, and the same file again changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from oneroof import timestamps
from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import Usage
from oneroof.people.owners_file import OwnerLine, Problem, read

# About half a million lines; as JSON they are three times as much, and PostgreSQL takes no more than 255 MB at once.
LARGEST = 32 << 20
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, or would have done."""

    added: int
    changed: int
    unchanged: int
    ended: int
    dry_run: bool

    def __str__(self) -> str:
        ended = f", {self.ended} ended" if self.ended else ""
        return f"{self.added} added, {self.changed} changed, {self.unchanged} unchanged{ended}"


@dataclass(frozen=True, slots=True)
class Answering:
    """The owners of one responsibility of a collection or an object; none, where there is no level."""

    source_name: str
    subject: str
    responsibility: str
    owners: list[str]
    level: str | None
    is_conflict: bool


def take(connection: Connection, raw: bytes, *, form: str, replace: bool = False, dry_run: bool = False) -> Imported:
    """Import a file's lines, all or none; with `replace` whatever it does not name ends now."""
    if len(raw) > LARGEST:
        raise Usage(f"the file is larger than {LARGEST >> 20} MB", hint="import it in pieces, without --replace")
    lines, problems = read(raw, form=form)
    if replace and not lines and not problems:
        raise Usage("the file names no owner, and --replace would end all of them", hint="leave --replace out")
    # Even if some lines are wrong already, the others are looked at, so that everything is told at once.
    answer = _call(connection, lines, replace=replace, dry_run=dry_run or bool(problems))
    told = [Problem(each["line"], each["said"]) for each in answer["problems"]]
    wrong = len(problems) + int(answer["wrong"])
    if wrong:
        raise _refusal(connection, sorted([*problems, *told], key=lambda p: p.line)[:SHOWN], wrong)
    return Imported(
        added=answer["added"],
        changed=answer["changed"],
        unchanged=answer["unchanged"],
        ended=answer["ended"],
        dry_run=dry_run,
    )


def recorded(connection: Connection) -> list[OwnerLine]:
    """Everything that was ever imported and has begun, in one order, as an import takes it."""
    with transaction(connection, doing="reading the owners", read_only=True):
        return [OwnerLine(*row) for row in connection.execute(queries("people/owners")["recorded"])]


def listing(connection: Connection, *, subject: str | None = None) -> list[Answering]:
    """Who answers for every collection, for one of them, or for one object by its key."""
    with transaction(connection, doing="listing owners", read_only=True):
        found = connection.execute(queries("people/owners")["collections"], {"subject": subject}).fetchall()
        if not found and subject is not None:
            found = connection.execute(queries("people/owners")["object"], {"subject": subject}).fetchall()
    return [Answering(*row) for row in found]


def _call(connection: Connection, lines: Mapping[int, OwnerLine], *, replace: bool, dry_run: bool) -> dict[str, Any]:
    rows = [
        {
            "line": number,
            "level": line.level,
            "subject": line.subject,
            "responsibility": line.responsibility,
            "owner": line.owner,
            "valid_from": None if line.valid_from is None else timestamps.write(line.valid_from),
            "valid_to": None if line.valid_to is None else timestamps.write(line.valid_to),
        }
        for number, line in lines.items()
    ]
    with transaction(connection, doing="importing owners", lock_timeout=5):
        (answer,) = one(
            connection, queries("people/owners")["take"], {"rows": Jsonb(rows), "replace": replace, "dry_run": dry_run}
        )
    return dict(answer)


def _refusal(connection: Connection, shown: list[Problem], wrong: int) -> Usage:
    with transaction(connection, doing="reading the offices", read_only=True):
        offices = [code for (code,) in connection.execute(queries("people/owners")["offices"])]
    lines = "lines are" if wrong != 1 else "line is"
    more = f"\n  and {wrong - len(shown)} more" if wrong > len(shown) else ""
    said = "".join(f"\n  line {each.line}: {each.said}" for each in shown)
    return Usage(
        f"{wrong} {lines} wrong, and nothing was imported:{said}{more}",
        hint=f"owners are people (oneroof person list) or offices: {', '.join(offices)}",
    )
