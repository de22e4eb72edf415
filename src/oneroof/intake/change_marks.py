"""The handoff: what a row does that was not there before (doc 32 §5; docs/explanation/intake/changes.md).

A row of an inventory becomes a candidate: with the verdict of its facts, if those were judged before, else it is to be
judged. A row of a change log, or a row of a register that is no longer what it was, marks the class it is about, once
for however many changes there are. Which kind of change it is, and what it marks, the rows of `governance_handoff_map`
say; nothing here knows a table of the host.
"""

from __future__ import annotations

from psycopg import sql

from oneroof.candidates import apply_batch
from oneroof.candidates.apply_batch import EVERY, ROWS
from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.sources.row_expressions import fact_names, part_names
from oneroof.sources.source import INVENTORY, REGISTER, Source

# The worker that hands off.
WORKER = "gov_handoff_intake"
BORN, SEEN = "born", "seen"
# Which windows to tell: those that are over, all, or those that have waited too long for a reader to come to an end.
OVER, ALL, WAITING = "over", "all", "waiting"
# No row counts.
NOTHING = sql.SQL("false")


def applying(
    source: Source,
    rows: sql.Composed,
    *,
    how: str | None = None,
    effect: str | None = None,
    counts: sql.Composable = EVERY,
    memory: str = ROWS,
) -> sql.Composed:
    """Do what rows of this kind of source do, and remember the versions; or do it as births, or only see what is there.
    `effect` stands in for all of it.
    """
    put = sql.SQL("put AS ({})").format(sql.SQL(effect)) if effect else _effects(source, how or source.source_kind)
    return apply_batch.effective(rows, put, counts=counts, memory=memory)


def unread(source: Source) -> sql.Composable:
    """In a full pass over rows that were counted before: those behind the watermark that was reached by then."""
    if source.timestamp_column is None:
        return NOTHING
    kind = sql.SQL(source.types[source.timestamp_column])
    return sql.SQL("coalesce(ts > %(past)s::text::{}, %(past)s::text IS NULL)").format(kind)


def tell_objects(connection: Connection, source: str, *, most: int, wait: bool = False) -> int:
    """Tell of objects that were handed off, the oldest first; of how many. Who does not wait leaves it to others."""
    return int(
        one(connection, queries("intake/change_marks")["tell_objects"], {"source": source, "most": most, "wait": wait})[
            0
        ]
    )


def tell(connection: Connection, source: Source, *, which: str, most: int, wait: bool = False) -> int:
    """Tell what a source has handed off: of so many objects, or what is in such windows."""
    name = source.source_name
    if source.source_kind == INVENTORY:
        return tell_objects(connection, name, most=most, wait=wait)
    return int(one(connection, queries("intake/change_marks")["tell"], {"source": name, "which": which})[0])


def note(connection: Connection, source: Source, what: str, *, seen: int, written: int) -> None:
    """Leave an audit row of something that is no batch of the intake (doc 32 §2)."""
    given = {"source": source.source_name, "what": what, "seen": seen, "written": written}
    connection.execute(queries("intake/change_marks")["note"], given)


def count_untold(connection: Connection) -> int:
    """The groups of which something is still to be told: after all was read, those that wait for their digest."""
    with transaction(connection, doing="counting what is untold", role="oneroof_worker", read_only=True):
        return int(one(connection, queries("intake/change_marks")["count_untold"])[0])


def _effects(source: Source, how: str) -> sql.Composable:
    text = sql.SQL(queries("intake/change_marks")[how])
    if source.source_kind == INVENTORY:
        words = {name: sql.SQL(queries("intake/change_marks")[name]) for name in ("columns", "sets", "passed")}
        rows = sql.SQL(queries("intake/change_marks")["from"]).format(sets=words["sets"])
        written = text.format(upsert=sql.SQL(queries("candidates/apply_batch")["upsert"]), **words, **{"from": rows})
        taking = {name: sql.SQL(queries("candidates/apply_batch")[name]) for name in apply_batch.TAKING}
        return sql.SQL(queries("intake/change_marks")["object"]).format(
            written=written, passed=words["passed"], **taking, **_words(source)
        )
    # A register tells what has changed by itself.
    again = sql.SQL("false" if source.source_kind == REGISTER else "%(again)s::boolean")
    marks = sql.SQL(queries("intake/change_marks")["marks"]).format(again=again, handed=_handed(source))
    return text.format(marks=marks)


def _handed(source: Source) -> sql.Composed:
    is_register = source.source_kind == REGISTER
    changed = "JOIN changed AS d ON d.key_mark = b.key_mark" if is_register else ""
    dated = source.timestamp_column
    return sql.SQL(queries("intake/change_marks")["handed"]).format(
        **_words(source),
        # A change log has nothing but births; a register is told when it is seen, whatever it says of itself.
        born=sql.SQL("d.change_number = 1" if is_register else "true"),
        moment=sql.SQL("(SELECT oneroof.gov_now())" if is_register else "w.at"),
        changed=sql.SQL(changed),
        timely=sql.SQL(queries("intake/change_marks")["timely"] if is_register else "true"),
        type=sql.SQL("timestamptz" if dated is None else source.types[dated]),
    )


def _words(source: Source) -> dict[str, sql.Composable]:
    """Where in the parts of a row stand its class and who made it what it is."""
    return {
        "names": sql.Literal(part_names(source)),
        # The facts are the first of them.
        "facts": sql.Literal(fact_names(source)),
        "kind": _part(source, source.class_column) if source.class_column else sql.Literal(source.source_name),
        "system": _part(source, source.system_column),
        "actor": _part(source, source.actor_column),
    }


def _part(source: Source, name: str | None) -> sql.Composable:
    if name is None:
        return sql.SQL("NULL::text")
    return sql.SQL("g.parts[{}]").format(sql.Literal(part_names(source).index(name) + 1))
