"""`oneroof approvals list | show | approve | reject`: what waits for a second person."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer

from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.database.connection import Connection
from oneroof.people import requests
from oneroof.people.records import Request

app = typer.Typer(help="What waits for a second person, and what was decided.", no_args_is_help=True)
ID = typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="The request.")
REASON = typer.Option(None, help="Why, for the record.")


@app.command("list")
def list_requests(
    ctx: typer.Context,
    everything: bool = typer.Option(False, "--all", help="Also what was decided (the newest 500)."),
) -> None:
    """What waits for a decision."""
    session: Session = ctx.obj
    connection = session.connect_installed()
    rows = requests.listing(connection) if everything else requests.listing(connection, states=("pending",))
    columns = ["id", "kind", "subject", "content", "state", "asked by", "at", "decided by", "reason"]
    cells = [
        (
            r.request_id,
            r.request_kind,
            r.subject,
            json.dumps(r.content, ensure_ascii=False),
            "edited" if r.is_edited else r.state,
            r.requester,
            r.requested_at,
            r.decider,
            r.reason,
        )
        for r in rows
    ]
    session.emit(rows, lambda out: out.print(table(columns, cells) if rows else "nothing waits"))


@app.command()
def show(ctx: typer.Context, request_id: int = ID) -> None:
    """One request, whole: the content and the hash an approval is bound to."""
    session: Session = ctx.obj
    found = requests.find(session.connect_installed(), request_id)
    cells = [
        ("request", f"{found.request_id}: {found.request_kind} {found.subject}"),
        ("state", found.state + (", but its row was edited since" if found.is_edited else "")),
        ("asked by", f"{found.requester} (login {found.requester_login}) at {found.requested_at:%Y-%m-%d %H:%M:%S %Z}"),
        ("reason", found.reason),
        ("content", json.dumps(found.content, ensure_ascii=False)),
        ("sha256", found.content_sha256),
        (
            "decided by",
            f"{found.decider} (login {found.decider_login}) at {found.decided_at:%Y-%m-%d %H:%M:%S %Z}"
            if found.decided_at
            else "",
        ),
        ("why", found.decision_reason),
    ]
    session.emit(found, lambda out: out.print(table(["", ""], cells)))


@app.command()
def approve(ctx: typer.Context, request_id: int = ID, reason: str | None = REASON) -> None:
    """Approve what another person asked; what it does is done at once."""
    session: Session = ctx.obj
    decide(session, session.connect_installed(), request_id, "approved", reason)


@app.command()
def reject(ctx: typer.Context, request_id: int = ID, reason: str | None = REASON) -> None:
    """Reject a request; one's own too."""
    session: Session = ctx.obj
    decide(session, session.connect_installed(), request_id, "rejected", reason)


def decide(
    session: Session, connection: Connection, request_id: int, decision: requests.Decision, reason: str | None
) -> None:
    """Decide, and say what follows."""
    found = requests.decide(connection, request_id, decision, reason=reason)
    session.emit(
        found, lambda out: out.print(f"request {request_id} ({found.request_kind} {found.subject}) is {found.state}")
    )


def requested(session: Session, found: Request, **more: object) -> None:
    """Say that a request waits, and what the other person types; a document has what more there is beside it."""
    session.emit(
        {**asdict(found), **more},
        lambda out: out.print(
            f"request {found.request_id} waits for another person: oneroof approvals approve {found.request_id}"
        ),
    )
