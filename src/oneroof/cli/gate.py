"""`oneroof gate list | request | approve | close`: switches that two people open and one closes."""

from __future__ import annotations

import typer

from oneroof.cli.approvals import ID, decide, requested
from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.errors import Refused
from oneroof.people import gates, requests

app = typer.Typer(help="Switches that are closed unless two different people opened them.", no_args_is_help=True)


@app.command("list")
def list_gates(ctx: typer.Context) -> None:
    """Every gate, whether it is open, and who opened it."""
    session: Session = ctx.obj
    rows = gates.listing(session.connect_installed())
    columns = ["gate", "open", "state", "asked by", "approved by", "since", "meaning"]
    cells = [(g.gate_key, g.is_open, g.state, g.requested_by, g.approved_by, g.opened_at, g.description) for g in rows]
    session.emit(rows, lambda out: out.print(table(columns, cells)))


@app.command()
def request(
    ctx: typer.Context,
    key: str = typer.Argument(help="The gate, as `oneroof gate list` names it."),
    reason: str = typer.Option(..., help="Why, for the person who decides."),
) -> None:
    """Ask for a gate to be opened. Another person approves with `oneroof gate approve ID`."""
    session: Session = ctx.obj
    connection = session.connect_installed()
    requested(session, requests.find(connection, gates.request(connection, key, reason=reason)))


@app.command()
def approve(ctx: typer.Context, request_id: int = ID) -> None:
    """Approve a request to open a gate: it opens at once. The requester cannot, under any login."""
    session: Session = ctx.obj
    connection = session.connect_installed()
    found = requests.find(connection, request_id)
    if found.request_kind != gates.KIND:
        raise Refused(
            f"request {request_id} is of kind {found.request_kind}", hint=f"oneroof approvals approve {request_id}"
        )
    decide(session, connection, request_id, "approved", None)


@app.command()
def close(
    ctx: typer.Context,
    key: str = typer.Argument(help="The gate."),
    reason: str | None = typer.Option(None, help="Why, for the record."),
) -> None:
    """Close a gate at once; one person is enough."""
    session: Session = ctx.obj
    was_open = gates.close(session.connect_installed(), key, reason=reason)
    session.emit(
        {"gate": key, "was_open": was_open, "is_open": False},
        lambda out: out.print(f"{key} is closed" + ("" if was_open else "; it was not open")),
    )
