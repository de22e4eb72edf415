"""`oneroof run`: the workers."""

from __future__ import annotations

import gc
import platform
import time

import typer

from oneroof.cli.session import Session, stop_on_signal
from oneroof.database.connection import inspect
from oneroof.errors import Unavailable, Usage
from oneroof.reads import status
from oneroof.runtime.progress import Report
from oneroof.runtime.supervisor import Mode, Supervisor, worker_names
from oneroof.workers import backfill_sweep


def register(app: typer.Typer) -> None:
    app.command()(run)


def run(
    ctx: typer.Context,
    workers: list[str] = typer.Argument(None, metavar="[WORKER]...", help="Which; all unless said."),
    once: bool = typer.Option(False, "--once", help="One step of each, then end."),
    until_idle: bool = typer.Option(False, "--until-idle", help="End when there is nothing more to do."),
    instance: str | None = typer.Option(None, help="A name for this process in its leases; the host's unless said."),
    shards: int = typer.Option(1, min=1, max=64, help="Sweep in so many ranges at once, each on its own connection."),
) -> None:
    """Run the workers: backfill_sweep reads each inventory once, handoff_intake follows every source from there,
    input_gate and candidate_scan judge, periodic_full_audit compares everything now and then, at once if it is named.

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
    chosen = worker_names(workers or [])
    first = session.connect_installed()
    if inspect(first).in_recovery:
        raise Unavailable("the server is a standby, which cannot be written", hint="name the primary with --dsn")
    expected = status.rows_to_sweep(first) if backfill_sweep.NAME in chosen else 0
    first.close()
    log = session.log()
    with session.meter("run") as meter:

        def tell(report: Report) -> None:
            if report.what is not None:
                log.warning("trouble", of=report.executor, what=report.what)
            if report.step is None:
                return
            totals[report.executor] = totals.get(report.executor, 0) + report.step.seen
            seen, seconds = sum(totals.values()), max(time.monotonic() - started, 1e-3)
            swept = sum(rows for name, rows in totals.items() if name.startswith(backfill_sweep.NAME))
            meter(f"{seen:,} rows, {seen / seconds:,.0f} rows/s", min(swept, expected), expected)

        supervisor = Supervisor(
            dial=session.dial,
            workers=chosen,
            instance=instance or platform.node() or "oneroof",
            mode=mode,
            stop=stop,
            tell=tell,
            shards=shards,
            named=bool(workers),
        )
        log.info("begin", workers=chosen, instance=supervisor.instance, mode=mode)
        # What was loaded until now stays; looking through all of it for garbage would hold up a batch.
        gc.freeze()
        seen = supervisor.run()
        log.info("end", seen=seen, stopped=stop.is_set())
    document = {"seen": seen, "executors": totals, "seconds": round(time.monotonic() - started, 3)}
    if mode != "for ever":
        document["untold"] = supervisor.untold
    left = f"; {supervisor.untold:,} group(s) to be told of later" if supervisor.untold else ""
    session.emit(document, lambda out: out.print(f"{seen:,} rows seen in {document['seconds']} s{left}"))
