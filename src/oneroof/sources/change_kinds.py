"""Kinds of change: how rows of a source are told apart, as rows of `governance_handoff_map` (doc 32 §3).

The first mapping of a source, by priority, whose predicate a changed row meets says of which of the ten kinds the
change is and what it dirties. The predicate is PostgreSQL's jsonpath over the columns that play a part, as texts; the
server checks it, and no SQL text is stored (promise 24). A new kind of row is a new mapping, never code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError, Refused, Usage

KINDS = (
    "object_born",
    "object_registered",
    "collection_changed",
    "count_changed",
    "object_retired",
    "source_changed",
    "axis_introduced",
    "policy_changed",
    "authority_changed",
    "ruleset_changed",
)
DIRTIES = ("object", "class", "collection", "all")
WHEN = ("any", "birth", "update")


@dataclass(frozen=True, slots=True)
class Kind:
    """One mapping; `source_name` is * for inventories that have none of their own."""

    map_code: str
    source_name: str
    priority: int
    on_change: str
    predicate: str | None
    change_kind: str
    dirties: str
    dimensions: dict[str, str]
    description: str


def listing(connection: Connection, source: str | None = None) -> list[Kind]:
    """Every mapping, or those of one source, in the order in which they are asked."""
    with (
        transaction(connection, doing="listing kinds of change", read_only=True),
        connection.cursor(row_factory=class_row(Kind)) as cursor,
    ):
        return cursor.execute(queries("sources/change_kinds")["listing"], {"source": source}).fetchall()


def add(
    connection: Connection,
    code: str,
    *,
    source: str,
    kind: str,
    priority: int,
    dirties: str = "class",
    predicate: str | None = None,
    on_change: str = "any",
    dimensions: Mapping[str, str] | None = None,
    description: str = "",
) -> Kind:
    """Map changes of a source to a kind. The same code again replaces what was said."""
    for what, word, known in (("kind", kind, KINDS), ("dirties", dirties, DIRTIES), ("on", on_change, WHEN)):
        if word not in known:
            raise Usage(f"{word!r} is no --{what}", hint=f"one of {', '.join(known)}")
    given = {
        "code": code,
        "source": source,
        "priority": priority,
        "on": on_change,
        "predicate": predicate,
        "kind": kind,
        "dirties": dirties,
        "dimensions": Jsonb(dict(dimensions or {})),
        "description": description or kind,
    }
    try:
        with transaction(connection, doing=f"mapping {source}", role="oneroof_owner", lock_timeout=5):
            (is_source,) = one(connection, queries("sources/change_kinds")["is_source"], given)
            if not is_source:
                raise Refused(f"there is no source {source}", hint="oneroof source list")
            if predicate is not None and one(connection, queries("sources/change_kinds")["answer"], given)[0] not in (
                "boolean",
                "null",
            ):
                raise Usage(f"{predicate!r} is not a yes-or-no question", hint="""such as '$.status == "retired"'""")
            connection.execute(queries("sources/change_kinds")["add"], given)
    except OneroofError as error:
        match error.__cause__:
            case psycopg.errors.UniqueViolation():
                raise Refused(
                    f"{source} has a mapping of priority {priority} already", hint=f"oneroof source map list {source}"
                ) from error
            case psycopg.DataError() | psycopg.errors.SyntaxError() | psycopg.errors.CheckViolation() as cause:
                raise Usage(cause.diag.message_primary or str(cause), hint="oneroof source map add --help") from error
        raise
    return next(each for each in listing(connection) if each.map_code == code)


def remove(connection: Connection, code: str) -> None:
    """Forget a mapping; changes that no other fits are then seen and not handed off."""
    with transaction(connection, doing=f"removing the mapping {code}", role="oneroof_owner", lock_timeout=5):
        if connection.execute(queries("sources/change_kinds")["remove"], {"code": code}).rowcount == 0:
            raise Refused(f"there is no mapping {code}", hint="oneroof source map list")
