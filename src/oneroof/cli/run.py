"""`oneroof run`: the workers."""

from __future__ import annotations

import platform
import time

import typer

from oneroof.cli.session import Session, stop_on_signal
from oneroof.errors import Usage
from oneroof.supervisor import Mode, Progress, Supervisor, worker_names


def register(app: typer.Typer) -> None:
    app.command()(run)


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
    stop = stop_on_signal()
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
