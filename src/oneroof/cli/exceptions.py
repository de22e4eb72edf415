"""`oneroof exceptions list | add | revoke`: what need not be covered, once two people have said so."""

from __future__ import annotations

import typer

from oneroof import timestamps
from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.errors import Usage
from oneroof.people import coverage_exceptions

app = typer.Typer(help="What need not be covered; one person asks, another ratifies.", no_args_is_help=True)
MOST = 500


@app.command("list")
def list_exceptions(
    ctx: typer.Context,
    everything: bool = typer.Option(False, "--all", help="Also what has expired or was revoked."),
) -> None:
    """Exceptions that count or wait for a second person, the newest 500."""
    session: Session = ctx.obj
    states = coverage_exceptions.STATES if everything else coverage_exceptions.STANDING
    rows = coverage_exceptions.listing(session.connect_installed(), states=states, limit=MOST)
    columns = ["id", "level", "subject", "state", "until", "asked by", "request", "ratified by", "reason"]
    cells = [
        (
            e.exception_id,
            e.level,
            e.subject,
            e.state,
            e.valid_to,
            e.requested_by,
            e.request_id,
            e.ratified_by,
            e.reason,
        )
        for e in rows
    ]
    session.emit(rows, lambda out: out.print(table(columns, cells) if rows else "no exceptions"))
    if len(rows) == MOST:
        session.say(f"there may be more: only the newest {MOST} are shown")


@app.command()
def add(
    ctx: typer.Context,
    level: str = typer.Argument(help="object, collection, class or scope."),
    subject: str = typer.Argument(help="Its candidate key, its name, or its source; * of a scope is every source."),
    reason: str = typer.Option(..., help="Why, for the person who decides."),
    until: str | None = typer.Option(None, help="The date it ends, as 2027-01-31; without one it does not end."),
) -> None:
    """Ask for an exception. It counts once another person approves it with `oneroof approvals approve ID`."""
    session: Session = ctx.obj
    try:
        end = None if until is None else timestamps.read(until)
    except ValueError as error:
        raise Usage(f"--until: {error}") from None
    made = coverage_exceptions.add(session.connect_installed(), level, subject, reason=reason, until=end)
    session.emit(
        made,
        lambda out: out.print(
            f"exception {made.exception_id} waits for another person: oneroof approvals approve {made.request_id}"
        ),
    )


@app.command()
def revoke(
    ctx: typer.Context,
    exception_id: int = typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="The exception."),
) -> None:
    """Take an exception back at once; one person is enough."""
    session: Session = ctx.obj
    changed = coverage_exceptions.revoke(session.connect_installed(), exception_id)
    session.emit(
        {"exception_id": exception_id, "changed": changed},
        lambda out: out.print(
            f"exception {exception_id} is revoked" if changed else f"exception {exception_id} counted no longer"
        ),
    )
