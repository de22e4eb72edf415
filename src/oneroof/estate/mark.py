"""The estate's own mark: one row of `estate_build` that says what was built, and with what."""

from __future__ import annotations

from oneroof.database.connection import Connection
from oneroof.database.statements import one


def built(connection: Connection) -> tuple[int, int] | None:
    """The rows and seed of the estate in this database, or None where there is none."""
    (marked,) = one(connection, "SELECT to_regclass('public.estate_build') IS NOT NULL")
    if not marked:
        return None
    row = connection.execute("SELECT rows, seed FROM public.estate_build").fetchone()
    return None if row is None else (int(row[0]), int(row[1]))
