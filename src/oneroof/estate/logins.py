"""The estate's people as database logins: two persons who ask and decide, a second login of the first, a viewer.

They are created without a password and granted nothing. A role of the same name that is already there is used
if it can stand for a person: it may log in and is no superuser (promise 21: identity is the session's login).
"""

from __future__ import annotations

from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import Refused
from oneroof.estate.statement import statement

LOGINS = ("requester", "approver", "requester_alt", "viewer")


def check_logins(connection: Connection) -> None:
    """Refuse before any work what `create_logins` could not do at the end."""
    found: dict[str, bool] = dict(
        connection.execute(
            "SELECT rolname::text, rolcanlogin AND NOT rolsuper FROM pg_catalog.pg_roles WHERE rolname = ANY (%s)",
            (list(LOGINS),),
        ).fetchall()
    )
    unfit = [login for login, fit in found.items() if not fit]
    if unfit:
        raise Refused(
            f"the role {', '.join(sorted(unfit))} exists and cannot stand for a person of the estate: "
            "it may not log in, or it is a superuser",
            hint="use another server, or alter the role to LOGIN NOSUPERUSER",
        )
    missing = [login for login in LOGINS if login not in found]
    (may_create,) = one(
        connection,
        "SELECT rolsuper OR rolcreaterole FROM pg_catalog.pg_roles WHERE rolname = current_user",
    )
    if missing and not may_create:
        raise Refused(
            f"this login may not create the estate's logins {', '.join(missing)}",
            hint="ALTER ROLE … CREATEROLE, or have an administrator create them with LOGIN",
        )


def create_logins(connection: Connection) -> None:
    """Create those that are missing, inside the caller's transaction."""
    connection.execute(statement("logins"))
