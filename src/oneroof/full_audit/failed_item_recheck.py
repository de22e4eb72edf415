"""Failed items are checked again: the audit tries the rows of items that are not over
(docs/explanation/full_audit/comparison.md).

Only an attempt shows whether an item is true: a row that can be applied, or was, needs none, and a row that is gone is
accounted by its candidate's fate. An item that fails stays as it is, and the attempt is not counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg

from oneroof.database.connection import Connection
from oneroof.failures import error_kinds, failed_items
from oneroof.failures.failed_items import Standing
from oneroof.full_audit import comparison
from oneroof.full_audit.comparison import Done
from oneroof.sources.row_expressions import could_be_key
from oneroof.sources.source import Source

# Items to look at in one step: each that fails costs a few statements.
MOST = 50
WELL, APPLIED, GONE = "found well by the audit", "applied by the audit", "its row is gone"


def look(connection: Connection, source: Source, at: dict[str, Any], *, frontier: int) -> Done:
    """Look at some items, behind the last one that was looked at."""
    found = failed_items.standing(connection, source=source.source_name, after=at.get("after", 0), most=MOST)
    counts = Counter[str]()
    if found:
        could_be = [item for item in found if could_be_key(source, item.source_key)]
        impossible = [item.item_id for item in found if item not in could_be]
        counts["ended"] += failed_items.finish(connection, impossible, resolution=GONE)
        counts += _try(connection, source, could_be, frontier=frontier)
    return Done({"after": found[-1].item_id} if len(found) == MOST else None, dict(counts))


def _try(connection: Connection, source: Source, items: list[Standing], *, frontier: int) -> Counter[str]:
    """All at once; by halves, where one of them fails."""
    if not items:
        return Counter()
    try:
        with connection.transaction():
            return _apply(connection, source, items, frontier=frontier)
    except psycopg.Error as error:
        if not error_kinds.is_poison(error):
            raise
    middle = len(items) // 2
    if not middle:
        return Counter()
    halves = (items[:middle], items[middle:])
    return sum((_try(connection, source, half, frontier=frontier) for half in halves), Counter[str]())


def _apply(connection: Connection, source: Source, items: list[Standing], *, frontier: int) -> Counter[str]:
    rows = comparison.put_aside(connection, source, [item.source_key for item in items])
    # What is beyond the frontier is the intake's.
    due = [row for row in rows if row.row_xid < frontier]
    wrong = [(row.source_key, row.candidate_key, row.wrong) for row in due if row.wrong is not None]
    counts = Counter(comparison.put_right(connection, source, wrong))
    mended, well, there = {row[0] for row in wrong}, {row.source_key for row in due}, {row.source_key for row in rows}
    for resolution, keys in ((APPLIED, mended), (WELL, well - mended)):
        ended = [item.item_id for item in items if item.source_key in keys]
        counts["ended"] += failed_items.finish(connection, ended, resolution=resolution)
    gone = [item.item_id for item in items if item.source_key not in there]
    counts["ended"] += failed_items.finish(connection, gone, resolution=GONE)
    return counts
