"""`oneroof vanishing list | request`: what vanished too much at once to be retired without being asked about."""

from __future__ import annotations

import typer

from oneroof.cli.approvals import requested
from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.people import requests, vanishing

app = typer.Typer(
    help="Groups of which too much vanished at once; one person asks, another lets go.", no_args_is_help=True
)
MOST = 500


@app.command("list")
def list_groups(ctx: typer.Context) -> None:
    """Groups whose vanished objects are held, the longest held 500."""
    session: Session = ctx.obj
    rows = vanishing.listing(session.connect_installed(), limit=MOST)
    columns = ["source", "group", "vanished", "of", "since", "request", "let go"]
    cells = [(v.source_name, v.group_key, v.held, v.members, v.held_at, v.request_id, v.allowed_at) for v in rows]
    session.emit(rows, lambda out: out.print(table(columns, cells) if rows else "nothing is held"))
    if len(rows) == MOST:
        session.say(f"there may be more: only {MOST} are shown")


@app.command()
def request(
    ctx: typer.Context,
    group: str = typer.Argument(help="The group, as `oneroof vanishing list` names it."),
    reason: str = typer.Option(..., help="Why, for the person who decides."),
) -> None:
    """Ask to let the vanished objects of a group go. Another person approves with `oneroof approvals approve ID`."""
    session: Session = ctx.obj
    connection = session.connect_installed()
    requested(session, requests.find(connection, vanishing.request(connection, group, reason=reason)))
