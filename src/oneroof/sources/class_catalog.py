"""The host's catalog of classes, and the registries that have their objects (doc 31 §2).

A registry that the catalog names becomes an inventory by that alone, where it is clear how: it has the name of its one
class, and a unique index of columns that cannot be NULL. All others are named with what prevents it, and can be added
by hand. A registry that is missing altogether is the finding `backfill_inventory_gap`.
"""

from __future__ import annotations

from dataclasses import dataclass

from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.database.transaction import transaction
from oneroof.errors import Refused
from oneroof.sources import registration


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry that the catalog names: whether it became a source now, or why it did not."""

    registry: str
    classes: list[str]
    added: bool
    reason: str | None = None


def register(connection: Connection) -> list[Registry]:
    """Tail every registry of the catalog that is not tailed yet; what became of each."""
    with transaction(connection, doing="reading the catalog", read_only=True):
        found = connection.execute(queries("sources/class_catalog")["registries"]).fetchall()
    return [_register(connection, *each) for each in found]


def _register(
    connection: Connection, name: str, table: str | None, tailed: str | None, key: list[str] | None, classes: list[str]
) -> Registry:
    def left(reason: str) -> Registry:
        return Registry(name, classes, added=False, reason=reason)

    if table is None:
        return left("it is not there")
    if tailed is not None:
        return left(f"it is tailed already, as a source of kind {tailed}")
    if key is None:
        return left("it has no unique index of columns that cannot be NULL; oneroof source add … --key")
    if classes != [name]:
        return left(f"its objects are of another class or of several; oneroof source add {table} --class …")
    try:
        registration.add(connection, table, key=key)
    except Refused as refusal:
        return left(str(refusal))
    return Registry(name, classes, added=True)
