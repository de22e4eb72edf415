"""`oneroof install | upgrade | uninstall`: additive, reversible, printable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from oneroof import __version__
from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.database.connection import Connection
from oneroof.database.host_schema import of_process
from oneroof.database.statements import one
from oneroof.errors import Refused, Unavailable, Usage
from oneroof.host import channel_export, expected_tables
from oneroof.install import migrate, script
from oneroof.people import directory

PRINT = typer.Option(False, "--print", help="Print the SQL and do nothing; needs no connection.")
YES = typer.Option(False, "--yes", help="Do not ask.")


def register(app: typer.Typer) -> None:
    app.command()(install)
    app.command()(upgrade)
    app.command()(uninstall)


def install(
    ctx: typer.Context,
    print_only: bool = PRINT,
    yes: bool = YES,
    approver: list[str] = typer.Option([], help="A login to register as one of the first approvers; twice."),
    host_schema: str | None = typer.Option(
        None, help="The schema of the host's tables; else ONEROOF_HOST_SCHEMA, else public."
    ),
) -> None:
    """Install into the database that has the host's tables.

    Adds a schema `oneroof` with tables, views and functions, and roles that it grants SELECT on the host's tables.
    Nothing of the host is altered; `oneroof uninstall` leaves the catalog as it was. Asks nothing. Running it again is
    harmless.
    """
    del yes
    session: Session = ctx.obj
    session.given["host_schema"] = host_schema
    if print_only:
        return _print(session, script.print_install(session.settings))
    connection = session.connect()
    for login in approver:
        _require_login(connection, login)
    with _showing_what_is_lacking(session):
        changed = migrate.install(connection, settings=session.settings)
    for login in approver:
        if login not in {known for person in directory.listing(connection) for known in person.logins}:
            content = {"action": "add", "login": login, "roles": ["operator", "approver"]}
            directory.change(connection, login, content, reason=None)
    if session.settings.host_schema != of_process():
        session.say(f"every other command needs the setting too: ONEROOF_HOST_SCHEMA={session.settings.host_schema}")
    return _report(session, connection, changed=changed)


def upgrade(ctx: typer.Context, print_only: bool = PRINT, yes: bool = YES) -> None:
    """Bring an older schema to this version; functions, views, grants and memberships are applied anew."""
    del yes
    session: Session = ctx.obj
    if print_only:
        return _print(session, script.print_upgrade(session.settings))
    connection = session.connect()
    if not migrate.read_state(connection).installed:
        raise Unavailable("oneroof is not installed in this database", hint="oneroof install")
    with _showing_what_is_lacking(session):
        changed = migrate.upgrade(connection, settings=session.settings)
    return _report(session, connection, changed=changed)


def uninstall(
    ctx: typer.Context,
    print_only: bool = PRINT,
    yes: bool = YES,
    export: Path | None = typer.Option(None, help="Write every row of ours to this file first (JSON lines)."),
) -> None:
    """Take everything of oneroof's away again.

    What it wrote into the host's shared channels stays there, since it is the host's record; it is counted first, and
    exported with --export together with the rows of the tables that go. Roles go with the last database.
    """
    session: Session = ctx.obj
    if print_only:
        return _print(session, script.print_uninstall(session.settings))
    connection = session.connect()
    state = migrate.read_state(connection)
    if not state.installed:
        return session.emit({"changed": False}, lambda out: out.print("oneroof is not installed here; nothing to do"))
    if state.host_schema != session.settings.host_schema:
        raise migrate.elsewhere(state, session.settings.host_schema)
    left = channel_export.remaining(connection)
    for channel, count in left.items():
        session.say(f"{count:,} rows of ours stay in {channel}")
    if not yes:
        export = _ask(session, export)
    exported = None if export is None else channel_export.export(connection, export)
    changed = migrate.uninstall(connection, settings=session.settings)
    document = {"changed": changed, "remaining": left, "exported": exported, "file": export and str(export)}
    return session.emit(document, lambda out: out.print(f"uninstalled{_to(exported, export)}"))


@contextmanager
def _showing_what_is_lacking(session: Session) -> Iterator[None]:
    """A line for each thing that the host does not have; a document has them in its error."""
    try:
        yield
    except expected_tables.Lacking as error:
        if not session.as_json:
            rows = [(lack.table, lack.column, lack.needed, lack.found) for lack in error.lacks]
            session.error.print(table(["table", "column", "what is needed", "what is there"], rows))
        raise


def _ask(session: Session, export: Path | None) -> Path | None:
    if sys.stdin is None or not sys.stdin.isatty() or session.as_json:
        raise Usage(
            "uninstall asks first, and there is no terminal to ask at", hint="oneroof uninstall --yes [--export FILE]"
        )
    if export is None:
        answer = typer.prompt("export our rows first? a file, or nothing", default="", show_default=False, err=True)
        export = Path(answer) if answer else None
    typer.confirm("uninstall oneroof from this database?", abort=True, err=True)
    return export


def _require_login(connection: Connection, login: str) -> None:
    known = "SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = %s::pg_catalog.name AND rolcanlogin)"
    if not one(connection, known, (login,))[0]:
        raise Refused(f"there is no login {login!r} in this cluster; nothing was installed", hint="CREATE ROLE … LOGIN")


def _to(exported: int | None, path: Path | None) -> str:
    return "" if exported is None else f"; {exported:,} rows exported to {path}"


def _report(session: Session, connection: Connection, *, changed: bool) -> None:
    bootstrapping = sum("approver" in person.roles for person in directory.listing(connection)) < 2
    if bootstrapping:
        session.say(
            "no gate can be opened until two approvers are registered: "
            "oneroof person add NAME --login LOGIN --role approver"
        )
    document = {
        "changed": changed,
        "version": __version__,
        "migrations": len(script.migrations()),
        "bootstrapping": bootstrapping,
    }
    done = "installed" if changed else "already installed and current"
    session.emit(
        document, lambda out: out.print(f"oneroof {__version__} {done}; every gate that was not opened is closed")
    )


def _print(session: Session, text: str) -> None:
    session.emit({"sql": text}, lambda out: out.out(text, end="", highlight=False))
