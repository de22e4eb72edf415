"""`oneroof status` and `oneroof watch`: how the workers are, and what follows from it."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.text import Text

from oneroof import findings
from oneroof import status as reads
from oneroof import watch as watching
from oneroof.certificate import TERMS
from oneroof.cli.session import Session, stop_on_signal, table
from oneroof.db import Connection
from oneroof.errors import Unavailable, Wrong, printable
from oneroof.status import Status, WorkerStatus
from oneroof.watch import Seen

STYLE = {"working": "green", "quiet": "green", "paused": "yellow", "blind": "bold yellow", "dead": "bold red"}

# As far as the view counts.
MOST = 10_000


def register(app: typer.Typer) -> None:
    app.command()(status)
    app.command()(watch)


def status(ctx: typer.Context) -> None:
    """How far every worker is and whether it lives; exit 1 if one is dead. Writes nothing.

    States: working; quiet (ticks, nothing to do); dead (holds a lease, no longer ticks); blind (ticks, but an old
    transaction pins the horizon); paused; released (nobody runs it). Lag is the age of the newest row seen; frontier is
    how long ago everything older was known to be seen. A total of batches is an estimate.
    """
    session: Session = ctx.obj
    found = reads.read(session.connect_installed())
    session.emit(found, lambda out: show(out, found))
    if not found.is_well:
        raise typer.Exit(1)


def show(out: Console, found: Status) -> None:
    """The workers as a table, then the verdicts, then what waits, then the horizon."""
    columns = ["worker", "source", "state", "phase", "rows", "lag s", "frontier s", "xids", "batches"]
    columns += ["waiting", "dead", "last run", "owner", "pinned by"]
    out.print(table(columns, [_row(w) for w in found.workers]) if found.workers else "no worker has run yet")
    if found.books:
        cells = [
            (b.source_name, f"{b.total:,}", f"{b.governed:,}", *(f"{getattr(b, term):,}" for term in TERMS))
            for b in found.books
        ]
        out.print(table(["source", "objects", "governed", *(term.replace("_", " ") for term in TERMS)], cells))
    if not found.has_owners:
        out.print("nobody owns anything yet: verdicts that need an owner wait (oneroof owners import FILE)")
    d, h = found.depth, found.horizon
    dirty, stale = (f"more than {MOST:,}" if count > MOST else f"{count:,}" for count in (d.dirty, d.stale))
    out.print(f"depth: {dirty} dirty, {stale} past their time, {d.waiting:,} waiting, {d.dead:,} dead letters")
    held = "" if h.pinned_seconds is None else f" for {h.pinned_seconds:,.0f} s"
    pinned = "not pinned" if h.pinned_by is None else f"pinned by {h.pinned_by}{held}"
    out.print(Text(printable(f"horizon: xid {h.horizon}, {h.horizon_xids:,} behind the newest, {pinned}")))


def _row(w: WorkerStatus) -> tuple[object, ...]:
    return (
        w.worker_name,
        w.source_name,
        Text(w.state, style=STYLE.get(w.state, "")),
        "done" if w.is_finished else w.phase,
        f"{w.events_seen:,}",
        _seconds(w.lag_seconds),
        _seconds(w.frontier_seconds),
        w.frontier_xids,
        f"{w.batches_done:,}" + ("" if w.batches_estimate is None else f" of about {w.batches_estimate:,}"),
        w.waiting,
        w.dead,
        w.last_run_at,
        w.lease_owner,
        w.pinned_by,
    )


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


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
    open_now = findings.listing(connection, bucket="silent_fail") if once else []
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


def _tell(out: Console, seen: Seen, open_now: list[findings.Finding]) -> None:
    for word, keys in (("raised", seen.raised), ("cleared", seen.cleared)):
        for key in keys:
            out.print(Text(printable(f"{word} {key}")))
    if open_now:
        columns = ["severity", "finding", "about", "since", "times", "what"]
        cells = [(f.severity, f.issue_type, f.subject, f.first_seen_at, f.occurrence_count, f.words) for f in open_now]
        out.print(table(columns, cells))
    left = seen.open - len(open_now)
    out.print(f"{seen.open:,} open" + (f", the worst {len(open_now):,} shown" if open_now and left > 0 else ""))
