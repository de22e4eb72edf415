"""The files that the rows of a source lie in: partitions and children, how long they are, and whether a rewrite moved
them.

A position in a table is a ctid, and holds only for the files that it was noted in; so whatever goes by positions keeps
the mark of the files beside them (doc 39 §39.5).
"""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.rows import class_row

from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.sources.source import Source


@dataclass(frozen=True, slots=True)
class Ground:
    """The files that a source's rows lie in: blocks of the longest, the tables, and a mark that a rewrite changes; and
    the writes that the server has counted, if it counts.
    """

    blocks: int
    leaves: list[int]
    files: str
    written: int | None


def read_ground(connection: Connection, source: Source) -> Ground:
    """See where the rows lie now."""
    with connection.cursor(row_factory=class_row(Ground)) as rows:
        found = rows.execute(
            queries("tail/table_files")["ground"], {"relation": source.table.as_string(connection)}
        ).fetchone()
    assert found is not None
    return found
