"""The steps of judgement: fact sets and objects are judged inside the database, many in one statement (doc 31 §3)."""

from __future__ import annotations

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.sources.source import Source

JUDGED = 2_000
ROUNDS = 10


def judge(connection: Connection, source: Source, *, most: int = JUDGED) -> int:
    """Judge what is to be judged, first or anew; how many sets and single objects."""
    who = {"source": source.source_name}
    if one(connection, queries("judgement/judgements")["classless"], who)[0]:
        refresh(connection)
    sets, objects = one(connection, queries("judgement/judgements")["judge"], {**who, "most": most})
    return int(sets + objects)


def refresh(connection: Connection) -> int:
    """Look again at what classes inherit, at what is said of single objects, and for classes without a registry; of how
    many it has changed.
    """
    return int(one(connection, queries("judgement/judgements")["refresh"])[0])


def absorb(connection: Connection, *, most: int) -> tuple[int, int]:
    """Take marks of groups in which something changed, in a storm no more than so many, so that they are judged again;
    how many, and how many are left.
    """
    taken, left = one(connection, queries("judgement/judgements")["absorb"], {"most": most})
    return int(taken), int(left)


def call(connection: Connection, what: str, source: Source, *, most: int) -> int:
    """Do one of the steps that the database does by itself: mark, apply, spread, expire or tell; how many that was."""
    return int(one(connection, queries("judgement/judgements")[what], {"source": source.source_name, "most": most})[0])


def is_waiting(connection: Connection, source: Source) -> bool:
    """Whether there is anything for the gate to do."""
    return bool(one(connection, queries("judgement/judgements")["is_waiting"], {"source": source.source_name})[0])


def is_moving_on(connection: Connection, source: Source) -> bool:
    """Whether there is anything for the scan to do."""
    return bool(one(connection, queries("judgement/judgements")["is_moving_on"], {"source": source.source_name})[0])


def is_moving(connection: Connection, source: Source) -> bool:
    """Whether verdicts of the source are about to change."""
    return bool(one(connection, queries("judgement/judgements")["is_moving"], {"source": source.source_name})[0])
