"""`oneroof person list | add | link | grant | remove`: who may ask and who may decide."""

from __future__ import annotations

from typing import Any

import typer

from oneroof.cli.approvals import requested
from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.errors import Usage
from oneroof.people import directory, requests

app = typer.Typer(
    help="Who may ask and who may decide. After the first two approvers, under four eyes.", no_args_is_help=True
)
PERSON = typer.Argument(help="The person, by its short name.")
LOGIN = typer.Option(..., help="A database login; it must exist.")
REASON = typer.Option(None, help="Why, for the person who decides.")


@app.command("list")
def list_people(ctx: typer.Context) -> None:
    """All people, with logins and roles."""
    session: Session = ctx.obj
    rows = directory.listing(session.connect_installed())
    columns = ["person", "name", "logins", "roles", "missing"]
    cells = [(p.person_code, p.display_name, p.logins, p.roles, p.memberships_missing) for p in rows]
    session.emit(rows, lambda out: out.print(table(columns, cells) if rows else "no person yet: oneroof person add"))


@app.command()
def add(
    ctx: typer.Context,
    person: str = PERSON,
    login: str | None = typer.Option(None, help="Its database login; the short name unless said."),
    name: str | None = typer.Option(None, help="The full name."),
    role: list[str] = typer.Option(["operator"], help="reader, operator, approver, executor; may be repeated."),
    reason: str | None = REASON,
) -> None:
    """Register a person. At once for the first two approvers, else another person approves it."""
    content = {"action": "add", "login": login or person, "name": name or person, "roles": sorted(set(role))}
    _change(ctx, person, content, reason)


@app.command()
def link(ctx: typer.Context, person: str = PERSON, login: str = LOGIN, reason: str | None = REASON) -> None:
    """Say that one more login is the same person."""
    _change(ctx, person, {"action": "link", "login": login}, reason)


@app.command()
def grant(
    ctx: typer.Context,
    person: str = PERSON,
    roles: list[str] = typer.Argument(help="reader, operator, approver, executor."),
    reason: str | None = REASON,
) -> None:
    """Give a person further roles."""
    _change(ctx, person, {"action": "grant", "roles": sorted(set(roles))}, reason)


@app.command()
def remove(
    ctx: typer.Context,
    person: str = PERSON,
    role: list[str] = typer.Option([], help="Only this role."),
    login: str | None = typer.Option(None, help="Only this login."),
    reason: str | None = REASON,
) -> None:
    """Remove a person, or only a role or a login. The last two approvers stay."""
    content: dict[str, Any] = {"action": "remove"}
    if role and login:
        raise Usage("remove one thing at a time: --role or --login")
    if role:
        content = {"action": "revoke", "roles": sorted(set(role))}
    elif login is not None:
        content = {"action": "unlink", "login": login}
    _change(ctx, person, content, reason)


def _change(ctx: typer.Context, person: str, content: dict[str, Any], reason: str | None) -> None:
    session: Session = ctx.obj
    connection = session.connect_installed()
    request_id = directory.change(connection, person, content, reason=reason)
    if request_id is None:
        return session.emit(
            {"person": person, "request_id": None, "state": "applied"},
            lambda out: out.print(f"{person}: {content['action']}, done"),
        )
    return requested(session, requests.find(connection, request_id))
