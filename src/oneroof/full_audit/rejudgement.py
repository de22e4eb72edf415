"""Rejudgement: the audit judges fact sets and single objects again (doc 31 §9).

A set that does not make its hash is learned anew; one whose judgement is not what the active rules say is judged anew,
and spreads to its members. Only sets and objects that were written since the audit before are judged. How far that was
is kept with the cursor, and holds only in the cluster where it was taken.
"""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.fence.cursor import Cursor
from oneroof.full_audit.comparison import Done
from oneroof.judgement import fact_sets
from oneroof.sources.row_expressions import EPOCH
from oneroof.sources.source import Source
from oneroof.tail.row_queries import FARTHEST

SETS, OBJECTS = "sets_doubted", "objects_doubted"
JUDGEMENTS = "judgements"
# Before every hash.
_FIRST = -(2**63)


def doubt_sets(connection: Connection, here: Cursor, source: Source, at: dict[str, Any], *, most: int) -> Done:
    """Look at some sets of facts, behind the last one that was looked at."""
    since, begun = _since(here, SETS), at.get("begun", here.horizon)
    given = {"source": source.source_name, "after": at.get("hash", _FIRST), "most": most, "since": since}
    row = connection.execute(fact_sets.making(source), given).fetchone()
    assert row is not None
    last, looked_at, wrong = row
    # First these: what is judged by altered facts would be told to all who have them.
    forgotten, doubted = one(connection, queries("full_audit/rejudgement")["doubt"], {**given, "wrong": wrong or []})
    counts = {JUDGEMENTS: int(forgotten + doubted)}
    if looked_at == most:
        return Done({"hash": last, "begun": begun}, counts)
    _remember(connection, here, SETS, begun)
    return Done(None, counts)


def doubt_objects(
    connection: Connection, here: Cursor, source: Source, at: dict[str, Any], *, most: int, is_last: bool
) -> tuple[int, dict[str, int]]:
    """Look at some single objects, behind the last one; since when, and how many were not as they should be."""
    since, begun = _since(here, OBJECTS), at.get("begun", here.horizon)
    given = {"source": source.source_name, "after": at.get("after", ""), "most": most, "since": since}
    (doubted,) = one(connection, queries("full_audit/rejudgement")["doubt_objects"], given)
    if is_last:
        _remember(connection, here, OBJECTS, begun)
    return begun, {JUDGEMENTS: int(doubted)}


def _since(here: Cursor, what: str) -> str | None:
    """The xid below which everything was looked at before, as `xmin` is compared; None if that says nothing here."""
    known = here.metadata.get(what)
    if known is None or known["identity"] != here.identity:
        return None
    return str(known["xid"] % EPOCH) if 0 <= here.next_xid - known["xid"] <= FARTHEST else None


def _remember(connection: Connection, here: Cursor, what: str, begun: int) -> None:
    known = Jsonb({what: {"identity": here.identity, "xid": begun}})
    connection.execute(queries("full_audit/rejudgement")["doubted"], {"cursor": here.cursor_id, "known": known})
