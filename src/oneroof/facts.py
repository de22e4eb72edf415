"""Facts: what rows of a source have in common, learned once and judged once (doc 31 §3; docs/explanation/coverage.md).

Millions of objects share few distinct facts. Before a sweep most of them are found in a sample of the pages; the rest
when a candidate turns up whose facts nobody has met. Whatever is judged is judged inside the database, many at once.
"""

from __future__ import annotations

from psycopg import sql

from oneroof import batch, tail
from oneroof.columns import class_of, could_be_key, fact_names, facts_hash, grain, group_key
from oneroof.connection import Connection
from oneroof.source import Source
from oneroof.statements import one, queries

# How many pages to look at for the facts of a source, how many sets of facts to judge in one statement, and how often
# before a sweep begins: where more than that are different, the rest is the gate's.
PAGES = 4_000
JUDGED = 2_000
ROUNDS = 10
# Of how many objects findings are counted in one statement: about a second's work.
COUNTED = 500_000


def sample(connection: Connection, source: Source, *, blocks: int) -> None:
    """Learn the facts that most rows have from some of the pages."""
    _learn(connection, source, tail.sampled_facts(source), {"percent": min(100.0, 100.0 * PAGES / max(blocks, 1))})


def learn(connection: Connection, source: Source, *, most: int) -> int:
    """Bring candidates whose facts nobody has met up to their rows, and learn those; a row that is not there has
    vanished. How many candidates that were.
    """
    found = connection.execute(queries("facts")["unknown"], {"source": source.source_name, "most": most}).fetchall()
    if not found:
        return 0
    # What somebody made up may be no key at all.
    keys, rows = [key for (key,) in found if could_be_key(source, key)], tail.item_rows(source)
    there = connection.execute(sql.SQL("SELECT r.source_key FROM ({}) AS r").format(rows), {"keys": keys}).fetchall()
    batch.put(connection, source, batch.reseeding(rows).as_bytes(None), {"keys": keys})
    _learn(connection, source, tail.item_facts(source), {"keys": keys})
    gone = sorted({key for (key,) in found}.difference(key for (key,) in there))
    if gone:
        connection.execute(queries("facts")["vanish"], {"source": source.source_name, "keys": gone})
    return len(found)


def making(source: Source) -> sql.Composed:
    """Of %(most)s sets of facts of %(source)s behind the hash %(after)s, written since %(since)s if that is given: the
    last one, how many there are, and those that are not what makes the hash they are kept under.
    """
    columns = [
        sql.SQL("f.row_facts ->> {} AS {}").format(sql.Literal(name), sql.Identifier(name))
        for name in fact_names(source)
    ]
    return sql.SQL(queries("facts")["made"]).format(
        hash=facts_hash(source),
        group=group_key(source),
        grain=grain(source),
        kind=class_of(source),
        columns=sql.SQL(", ").join(columns),
    )


def judge(connection: Connection, source: Source, *, most: int = JUDGED) -> int:
    """Judge what is to be judged, first or anew; how many sets and single objects."""
    who = {"source": source.source_name}
    if one(connection, queries("facts")["classless"], who)[0]:
        refresh(connection)
    sets, objects = one(connection, queries("facts")["judge"], {**who, "most": most})
    return int(sets + objects)


def refresh(connection: Connection) -> int:
    """Look again at what classes inherit, at what is said of single objects, and for classes without a registry; of how
    many it has changed.
    """
    return int(one(connection, queries("facts")["refresh"])[0])


def absorb(connection: Connection, *, most: int) -> tuple[int, int]:
    """Take marks of groups in which something changed, in a storm no more than so many, so that they are judged again;
    how many, and how many are left.
    """
    taken, left = one(connection, queries("facts")["absorb"], {"most": most})
    return int(taken), int(left)


def call(connection: Connection, what: str, source: Source, *, most: int) -> int:
    """Do one of the steps that the database does by itself: mark, apply, spread, expire or tell; how many that was."""
    return int(one(connection, queries("facts")[what], {"source": source.source_name, "most": most})[0])


def is_waiting(connection: Connection, source: Source) -> bool:
    """Whether there is anything for the gate to do."""
    return bool(one(connection, queries("facts")["is_waiting"], {"source": source.source_name})[0])


def is_moving_on(connection: Connection, source: Source) -> bool:
    """Whether there is anything for the scan to do."""
    return bool(one(connection, queries("facts")["is_moving_on"], {"source": source.source_name})[0])


def is_moving(connection: Connection, source: Source) -> bool:
    """Whether verdicts of the source are about to change."""
    return bool(one(connection, queries("facts")["is_moving"], {"source": source.source_name})[0])


def horizon(connection: Connection) -> str:
    """The oldest transaction that is not finished."""
    return str(one(connection, queries("facts")["horizon"])[0])


def has_moved(connection: Connection, source: Source, *, since: str) -> bool:
    """Whether verdicts of the source have changed, whoever wrote them, since this was the oldest transaction."""
    return bool(one(connection, queries("facts")["has_moved"], {"source": source.source_name, "since": since})[0])


def count(connection: Connection, source: Source, *, most: int = COUNTED) -> int:
    """Count the findings of classes in which something moved, of about so many objects at a time; how many classes are
    left.
    """
    return int(one(connection, queries("facts")["count"], {"source": source.source_name, "most": most})[1])


def _learn(connection: Connection, source: Source, found: sql.Composed, given: dict[str, object]) -> int:
    statement = sql.SQL(queries("facts")["learn"]).format(facts=found)
    return connection.execute(statement, {**given, "scope": source.source_name}).rowcount
