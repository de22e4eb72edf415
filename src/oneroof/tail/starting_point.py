"""The origin: where an intake begins that has no frontier yet (doc 39 §39.5).

An inventory goes on from where its first sweep closed, so that nothing is lost between the two; a change log starts
where it was registered.
"""

from __future__ import annotations

from dataclasses import dataclass

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.fence import cursor
from oneroof.fence.cursor import Cursor
from oneroof.sources.source import INVENTORY, Source
from oneroof.tail import table_files
from oneroof.tail.row_queries import FARTHEST


@dataclass(frozen=True, slots=True)
class Origin:
    """A frontier, the cluster it is of, and the tables that the rows lay in then."""

    frontier: int
    identity: str
    leaves: list[int]


def start(connection: Connection, source: Source, here: Cursor) -> bool:
    """Begin where it is to; False while that is not known."""
    begins = find(connection, source, here)
    if begins is not None:
        cursor.start(connection, here, begins.frontier, identity=begins.identity, leaves=begins.leaves)
    return begins is not None


def find(connection: Connection, source: Source, here: Cursor) -> Origin | None:
    """Where to begin; None while an inventory is not swept."""
    who = {"source": source.source_name}
    if source.source_kind == INVENTORY:
        swept = connection.execute(queries("tail/starting_point")["swept"], who).fetchone()
        return None if swept is None else Origin(*swept)
    (registered,) = one(connection, queries("tail/starting_point")["registered"], who)
    # One of another cluster says nothing here.
    is_here = registered <= here.horizon <= registered + FARTHEST
    leaves = table_files.read_ground(connection, source).leaves
    return Origin(registered if is_here else here.horizon, here.identity, leaves)
