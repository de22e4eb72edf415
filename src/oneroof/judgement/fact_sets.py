"""Fact sets: what rows of a source have in common, learned once (doc 31 §3; docs/explanation/judgement/verdicts.md).

Millions of objects share few distinct facts. Before a sweep most of them are found in a sample of the pages; the rest
when a candidate turns up whose facts are unknown.
"""

from __future__ import annotations

from psycopg import sql

from oneroof.candidates import apply_batch
from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.sources.row_expressions import class_of, could_be_key, fact_names, facts_hash, grain, group_key
from oneroof.sources.source import Source
from oneroof.tail import row_queries

# How many pages to look at for the facts of a source, how many sets of facts to judge in one statement, and how often
# before a sweep begins: where more than that are different, the rest is the gate's.
PAGES = 4_000


def sample(connection: Connection, source: Source, *, blocks: int) -> None:
    """Learn the facts that most rows have from some of the pages."""
    _learn(
        connection, source, row_queries.sampled_facts(source), {"percent": min(100.0, 100.0 * PAGES / max(blocks, 1))}
    )


def learn(connection: Connection, source: Source, *, most: int) -> int:
    """Bring candidates with unknown facts up to their rows, and learn the facts; a row that is not there has vanished.
    How many candidates that were.
    """
    found = connection.execute(
        queries("judgement/fact_sets")["unknown"], {"source": source.source_name, "most": most}
    ).fetchall()
    if not found:
        return 0
    # An invented candidate may have no valid key.
    keys, rows = [key for (key,) in found if could_be_key(source, key)], row_queries.item_rows(source)
    there = connection.execute(sql.SQL("SELECT r.source_key FROM ({}) AS r").format(rows), {"keys": keys}).fetchall()
    apply_batch.put(connection, source, apply_batch.reseeding(rows).as_bytes(None), {"keys": keys})
    _learn(connection, source, row_queries.item_facts(source), {"keys": keys})
    gone = sorted({key for (key,) in found}.difference(key for (key,) in there))
    if gone:
        connection.execute(queries("judgement/fact_sets")["vanish"], {"source": source.source_name, "keys": gone})
    return len(found)


def making(source: Source) -> sql.Composed:
    """Of %(most)s sets of facts of %(source)s behind the hash %(after)s, written since %(since)s if that is given: the
    last one, how many there are, and those that are not what makes the hash they are kept under.
    """
    columns = [
        sql.SQL("f.row_facts ->> {} AS {}").format(sql.Literal(name), sql.Identifier(name))
        for name in fact_names(source)
    ]
    return sql.SQL(queries("judgement/fact_sets")["made"]).format(
        hash=facts_hash(source),
        group=group_key(source),
        grain=grain(source),
        kind=class_of(source),
        columns=sql.SQL(", ").join(columns),
    )


def _learn(connection: Connection, source: Source, found: sql.Composed, given: dict[str, object]) -> int:
    statement = sql.SQL(queries("judgement/fact_sets")["learn"]).format(facts=found)
    return connection.execute(statement, {**given, "scope": source.source_name}).rowcount
