"""`oneroof run` and `oneroof status`: the workers, and how they are."""

from __future__ import annotations

import platform
import signal
import threading
import time
from types import FrameType

import typer

from oneroof import status as reads
from oneroof.cli.session import Session, table
from oneroof.errors import Usage
from oneroof.supervisor import Mode, Progress, Supervisor, worker_names


def register(app: typer.Typer) -> None:
    app.command()(run)
    app.command()(status)


def run(
    ctx: typer.Context,
    workers: list[str] = typer.Argument(None, metavar="[WORKER]...", help="Which; all unless said."),
    once: bool = typer.Option(False, "--once", help="One step of each, then end."),
    until_idle: bool = typer.Option(False, "--until-idle", help="End when there is nothing more to do."),
    instance: str | None = typer.Option(None, help="A name for this process in its leases; the host's unless said."),
) -> None:
    """Run the workers: backfill_sweep reads each inventory once, handoff_intake follows every source from there.

    Any number of processes on any number of machines may run; leases share out the work. Ctrl-C ends the batch at hand
    and gives the leases back. Needs the gate governance.workers_enabled (exit 3 with --once or --until-idle if closed).
    """
    session: Session = ctx.obj
    if once and until_idle:
        raise Usage("--once or --until-idle, not both")
    mode: Mode = "once" if once else "until idle" if until_idle else "for ever"
    stop = _stop_on_signal()
    totals: dict[str, int] = {}
    started = time.monotonic()
    connection = session.connect_installed()
    with session.meter("run") as meter:

        def tell(progress: Progress) -> None:
            name = f"{progress.worker}:{progress.source}"
            totals[name] = totals.get(name, 0) + progress.step.seen
            seen = sum(totals.values())
            meter(f"{seen:,} rows, {seen / max(time.monotonic() - started, 1e-3):,.0f} rows/s", 0, 0)

        supervisor = Supervisor(
            connection=connection,
            workers=worker_names(workers or []),
            instance=instance or platform.node() or "oneroof",
            mode=mode,
            stop=stop,
            tell=tell,
        )
        seen = supervisor.run()
    document = {"seen": seen, "executors": totals, "seconds": round(time.monotonic() - started, 3)}
    session.emit(document, lambda out: out.print(f"{seen:,} rows seen in {document['seconds']} s"))


def _stop_on_signal() -> threading.Event:
    """The first signal ends the batch at hand; a second one ends at once, as everywhere else."""
    stop = threading.Event()

    def hear(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, hear)
    return stop


def status(ctx: typer.Context) -> None:
    """How far every worker is and whether it lives; exit 1 if one is dead. Writes nothing."""
    session: Session = ctx.obj
    rows = reads.workers(session.connect_installed())
    columns = ["worker", "source", "state", "phase", "rows", "lag s", "frontier s", "xids", "owner"]
    cells = [
        (
            row.worker_name,
            row.source_name,
            row.state,
            row.phase,
            f"{row.events_seen:,}",
            _seconds(row.lag_seconds),
            _seconds(row.frontier_seconds),
            row.frontier_xids,
            row.lease_owner,
        )
        for row in rows
    ]
    session.emit({"workers": rows}, lambda out: out.print(table(columns, cells) if rows else "no worker has run yet"))
    if any(row.state == "dead" for row in rows):
        raise typer.Exit(1)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
