"""The estate's owners: a file as a host would import it, the same for the same collections.

Two thirds of the collections have an owner for every responsibility, one of those has two for its policy, and one has
owners for some responsibilities only (doc 31 §6: conflicts; the rest is what an audit finds).
"""

from __future__ import annotations

from oneroof.database.connection import Connection
from oneroof.database.transaction import transaction
from oneroof.estate.statement import statement
from oneroof.people.owners_file import OwnerLine, write


def owners_file(connection: Connection) -> str:
    """The file, as CSV, for the collections that the estate has."""
    with transaction(connection, doing="writing the estate's owners", read_only=True, search_path="public, pg_temp"):
        return write((OwnerLine(*row) for row in connection.execute(statement("owners"))), form="csv")
