"""Read-only examination of any database: can oneroof live here, and what can it promise of each source?

Every check is a row a person can read: ok, note (worth knowing), warn (works, but), fail (will not work). Nothing is
written, no role is needed beyond SELECT on the catalog, and a database without oneroof is examined all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from oneroof import __version__
from oneroof.database import host_schema
from oneroof.database.connection import NEWEST, Connection, Server, inspect
from oneroof.database.statements import queries
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError
from oneroof.host import expected_tables
from oneroof.install import migrate
from oneroof.sources.guarantee import Guarantee, guarantees

Verdict = Literal["ok", "note", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at, and what helps if it is not well."""

    section: str
    name: str
    verdict: Verdict
    detail: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All checks, and the guarantee of each source."""

    checks: list[Check]
    guarantees: list[Guarantee]

    @property
    def well(self) -> bool:
        return all(check.verdict != "fail" for check in self.checks)


def examine(connection: Connection) -> Report:
    """Look at everything in one read-only transaction."""
    server = inspect(connection)
    with transaction(connection, doing="examining the database", read_only=True, statement_timeout=5):
        found = list(guarantees(connection))
        checks = [
            *_server(connection, server),
            *_substrate(connection),
            *_ours(connection),
            *_privileges(connection, server),
            *_sources(found),
        ]
    return Report(checks=checks, guarantees=found)


def _server(connection: Connection, server: Server) -> Iterator[Check]:
    newest = server.major <= NEWEST
    yield Check(
        "server",
        "version",
        "ok" if newest else "warn",
        f"PostgreSQL {server.major}",
        None if newest else f"oneroof is tested up to PostgreSQL {NEWEST}",
    )
    yield Check(
        "server",
        "role",
        "warn" if server.in_recovery else "ok",
        "standby, read-only" if server.in_recovery else "primary",
        "workers and install need the primary" if server.in_recovery else None,
    )
    for name, value, wanted, matters in connection.execute(queries("install/doctor")["settings"]):
        verdict: Verdict = "ok" if value == wanted else "warn"
        yield Check("server", name, verdict, value, None if verdict == "ok" else f"{matters}; expected {wanted}")
    for name, value, unit in connection.execute(queries("install/doctor")["capacities"]):
        yield Check("server", name, "note", f"{value} {unit}".strip())
    pinned, seconds, who = connection.execute(queries("install/doctor")["horizon"]).fetchone() or (0, 0, None)
    old = seconds is not None and seconds > 600
    yield Check(
        "server",
        "horizon",
        "warn" if old else "ok",
        f"oldest transaction is {int(seconds or 0)} s and {pinned} xids old" + (f": {who}" if who else ""),
        "it delays every proof; end it" if old else None,
    )


def _substrate(connection: Connection) -> Iterator[Check]:
    lacking = expected_tables.lacks(connection, schema=host_schema.of_process())
    for lack in lacking:
        name = lack.table if lack.column is None else f"{lack.table}.{lack.column}"
        yield Check("substrate", name, "fail", lack.found, f"needed ({lack.seed}): {lack.needed}")
    whole = len({table.name for table in expected_tables.tables()} - {lack.table for lack in lacking})
    yield Check(
        "substrate",
        "tables",
        "fail" if lacking else "ok",
        f"{whole} of {len(expected_tables.tables())} have what oneroof needs",
    )


def _ours(connection: Connection) -> Iterator[Check]:
    try:
        state = migrate.read_state(connection)
    except OneroofError as error:
        yield Check("oneroof", "schema", "fail", str(error), error.hint)
        return
    if not state.installed:
        yield Check("oneroof", "schema", "note", "not installed", "oneroof install")
    elif state.host_schema != host_schema.of_process():
        other = migrate.elsewhere(state, host_schema.of_process())
        yield Check("oneroof", "schema", "fail", str(other), other.hint)
    elif not state.current:
        yield Check(
            "oneroof", "schema", "fail", f"of oneroof {state.version}, this is {__version__}", "oneroof upgrade"
        )
    else:
        yield Check("oneroof", "schema", "ok", f"oneroof {state.version}, migration {max(state.applied)}")
        (tables, views, functions) = connection.execute(queries("install/doctor")["objects"]).fetchone() or (0, 0, 0)
        yield Check("oneroof", "objects", "ok", f"{tables} tables, {views} views, {functions} functions")
        for planted, owner in connection.execute(queries("install/doctor")["planted"]):
            yield Check("oneroof", planted, "fail", f"is in our schema and belongs to {owner}", "drop it")
    for channel, what in connection.execute(
        queries("install/doctor")["triggers"], {"schema": host_schema.of_process()}
    ):
        yield Check("oneroof", channel, "warn", f"{what} runs with our rights when we write there", "know whose it is")


def _privileges(connection: Connection, server: Server) -> Iterator[Check]:
    names = [table.name for table in expected_tables.tables()]
    given = {"tables": names, "schema": host_schema.of_process()}
    unreadable, ungrantable = connection.execute(queries("install/doctor")["grants"], given).fetchone() or ([], [])
    yield Check(
        "privileges",
        "read",
        "fail" if unreadable else "ok",
        f"cannot SELECT {', '.join(unreadable)}" if unreadable else "every table of the substrate can be read",
        "GRANT SELECT to this login" if unreadable else None,
    )
    create_role, create_schema = connection.execute(queries("install/doctor")["powers"]).fetchone() or (False, False)
    may_install = create_role and create_schema and not ungrantable
    lacking = [
        *([] if create_role else ["CREATEROLE"]),
        *([] if create_schema else ["CREATE on the database"]),
        *([f"the right to GRANT on {', '.join(ungrantable)}"] if ungrantable else []),
    ]
    yield Check(
        "privileges",
        "install",
        "ok" if may_install else "note",
        f"login {server.login} "
        + ("could install" if may_install else "could not install: lacks " + "; ".join(lacking)),
    )
    for login, missing in (
        connection.execute(queries("install/doctor")["memberships"]) if _installed(connection) else ()
    ):
        yield Check("privileges", login, "warn", f"lacks {missing}", "oneroof upgrade")


def _installed(connection: Connection) -> bool:
    (readable,) = connection.execute(queries("install/doctor")["readable"]).fetchone() or (False,)
    return bool(readable)


def _sources(guarantees: list[Guarantee]) -> Iterator[Check]:
    for found in guarantees:
        verdict: Verdict = {"exact": "ok", "reconciled": "warn"}.get(found.guarantee, "fail")  # type: ignore[assignment]
        yield Check("sources", found.source, verdict, f"{found.guarantee}: {found.why}")
        if found.guarantee != "none":
            yield Check(
                "sources",
                f"{found.source} index",
                "ok" if found.index else "warn",
                found.index or "no index its keyset could use",
                None if found.index else "reads fall back to ranges of the table; the host may add one",
            )
            yield Check(
                "sources",
                f"{found.source} key",
                "ok" if found.key_is_unique else "warn",
                "unique" if found.key_is_unique else "no unique index says that its key is",
                None if found.key_is_unique else "rows that share a key are taken for one",
            )
