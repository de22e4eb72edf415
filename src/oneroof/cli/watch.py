"""`oneroof watch`: raise and clear the findings about the workers."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.text import Text

from oneroof.cli.paper import table
from oneroof.cli.session import Session, stop_on_signal
from oneroof.database.connection import Connection
from oneroof.errors import Unavailable, Wrong, printable
from oneroof.findings import store
from oneroof.runtime import watch as watching
from oneroof.runtime.watch import Seen


def register(app: typer.Typer) -> None:
    app.command()(watch)


def watch(
    ctx: typer.Context,
    once: bool = typer.Option(
        False, "--once", help="One look, for a scheduler; exit 1 if a finding is open that is more than low."
    ),
) -> None:
    """Raise and clear the findings about the workers: who no longer ticks, who is too far behind.

    Every running `oneroof run` does the same; this is for where none may be running. Without --once it looks every few
    seconds until it is told to stop. Works as the role oneroof_worker.
    """
    session: Session = ctx.obj
    connection = session.connect_installed()
    seen = watching.watch(connection) if once else _keep_watching(session, connection)
    # What is wrong with the objects is for their owners; this is about the workers.
    open_now = store.listing(connection, bucket="silent_fail") if once else []
    session.emit(
        {"raised": seen.raised, "cleared": seen.cleared, "open": seen.open, "findings": open_now},
        lambda out: _tell(out, seen, open_now),
    )
    if any(finding.severity != "low" for finding in open_now):
        raise typer.Exit(1)


def _keep_watching(session: Session, connection: Connection) -> Seen:
    """Look again and again; a server that is away or busy is waited for. What all looks changed, in order."""
    stop = stop_on_signal()
    total = Seen(raised=[], cleared=[], open=0)
    while not stop.is_set():
        try:
            if connection.closed:
                connection = session.connect_installed()
            seen = watching.watch(connection)
        except (Unavailable, Wrong) as error:
            session.say(str(error))
        else:
            for word, keys in (("raised", seen.raised), ("cleared", seen.cleared)):
                for key in keys:
                    session.say(f"{word} {key}")
            total = Seen(raised=total.raised + seen.raised, cleared=total.cleared + seen.cleared, open=seen.open)
        stop.wait(watching.INTERVAL)
    return total


def _tell(out: Console, seen: Seen, open_now: list[store.Finding]) -> None:
    for word, keys in (("raised", seen.raised), ("cleared", seen.cleared)):
        for key in keys:
            out.print(Text(printable(f"{word} {key}")))
    if open_now:
        columns = ["severity", "finding", "about", "since", "times", "what"]
        cells = [(f.severity, f.issue_type, f.subject, f.first_seen_at, f.occurrence_count, f.words) for f in open_now]
        out.print(table(columns, cells))
    left = seen.open - len(open_now)
    out.print(f"{seen.open:,} open" + (f", the worst {len(open_now):,} shown" if open_now and left > 0 else ""))
