"""A first sweep in parallel, over disjoint ranges (doc 31 §11), each with a cursor and a lease of its own.

A range is `source#i/n` in the cursor, with the window's H of the whole. Where to cut is taken from a sample, once, and
kept with the cursors: a process that goes on after a crash finds the same ranges. The last one
also has the rows without a timestamp.
"""

from __future__ import annotations

from psycopg.types.json import Jsonb

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.fence.cursor import Cursor
from oneroof.sources.row_expressions import DATED
from oneroof.sources.source import Source
from oneroof.tail import row_queries
from oneroof.tail.row_queries import Range

# Pages that are looked at to find out where to cut.
SAMPLE = 2_000


def cut(connection: Connection, here: Cursor, source: Source, *, shares: int, blocks: int) -> int:
    """Make the ranges of what a sweep still has to do; how many there are, 0 where a source cannot be cut."""
    at = here.window_at or {}
    if not source.in_index_order or source.timestamp_column is None or at.get("part", DATED) != DATED:
        return 0
    percent = min(100.0, 100.0 * SAMPLE / max(blocks, 1))
    rest = Range(part=DATED, after=at.get("after"), upto=None)
    given = {"shares": shares, "percent": percent, **rest.parameters()}
    found = connection.execute(row_queries.keyset_shares(source, rest), given).fetchall()
    ends = [end for (end,) in found[:-1]]
    starts = [at.get("after"), *ends]
    for i, (start, end) in enumerate(zip(starts, [*ends, None], strict=True), 1):
        connection.execute(
            queries("backfill/ranges")["make"],
            {
                "worker": here.worker_name,
                "parent": here.source_name,
                "source": f"{here.source_name}#{i}/{len(starts)}",
                "at": Jsonb({"part": DATED, "after": start, "upto": end}),
            },
        )
    connection.execute(
        queries("backfill/ranges")["made"],
        {"worker": here.worker_name, "source": here.source_name, "ranges": Jsonb({"ranges": len(starts)})},
    )
    return len(starts)


def names(connection: Connection, *, worker: str, source: str) -> list[str]:
    """The ranges of a sweep that is under way."""
    found = connection.execute(queries("backfill/ranges")["names"], {"worker": worker, "source": source})
    return [name for (name,) in found]


def all_names(connection: Connection, *, worker: str) -> dict[str, list[str]]:
    """The ranges of every sweep that is under way, by source."""
    found: dict[str, list[str]] = {}
    for source, name in connection.execute(queries("backfill/ranges")["all_names"], {"worker": worker}):
        found.setdefault(source, []).append(name)
    return found


def are_swept(connection: Connection, *, worker: str, source: str) -> bool:
    """Whether every range has been swept to its end."""
    (swept,) = one(connection, queries("backfill/ranges")["are_swept"], {"worker": worker, "source": source})
    return bool(swept)
