"""Counting findings: for each class in which a verdict moved, how many objects have which finding (doc 31 §10)."""

from __future__ import annotations

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.sources.source import Source

# Of how many objects findings are counted in one statement: about a second's work.
COUNTED = 500_000


def horizon(connection: Connection) -> str:
    """The oldest transaction that is not finished."""
    return str(one(connection, queries("findings/counting")["horizon"])[0])


def has_moved(connection: Connection, source: Source, *, since: str) -> bool:
    """Whether verdicts of the source have changed, under any role, since this was the oldest transaction."""
    return bool(
        one(connection, queries("findings/counting")["has_moved"], {"source": source.source_name, "since": since})[0]
    )


def count(connection: Connection, source: Source, *, most: int = COUNTED) -> int:
    """Count the findings of classes in which something moved, of about so many objects at a time; how many classes are
    left.
    """
    return int(one(connection, queries("findings/counting")["count"], {"source": source.source_name, "most": most})[1])
