"""`oneroof status`: how far the workers are, and what waits."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.text import Text

from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.errors import printable
from oneroof.proof.certificate import TERMS
from oneroof.reads import status as reads
from oneroof.reads.status import Status, WorkerStatus

STYLE = {"working": "green", "quiet": "green", "paused": "yellow", "blind": "bold yellow", "dead": "bold red"}

# As far as the view counts.
MOST = 10_000


def register(app: typer.Typer) -> None:
    app.command()(status)


def status(ctx: typer.Context) -> None:
    """How far every worker is and whether it lives; exit 1 if one is dead. Writes nothing.

    States: working; quiet (ticks, nothing to do); dead (holds a lease, no longer ticks); blind (ticks, but an old
    transaction pins the horizon); paused; released (no process runs it). Lag is the age of the newest row seen;
    frontier is how long ago everything older was known to be seen. A total of batches is an estimate.
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
        out.print("no owners yet: verdicts that need an owner wait (oneroof owners import FILE)")
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
