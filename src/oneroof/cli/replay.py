"""`oneroof replay`: read a source again."""

from __future__ import annotations

import dataclasses
import platform

import typer

from oneroof.cli.session import Session
from oneroof.fence import lease
from oneroof.people.gates import require_open
from oneroof.runtime.admission import GATE
from oneroof.runtime.replay import START, Replay, Replayed, moment
from oneroof.runtime.supervisor import worker_names
from oneroof.sources import registration


def register(app: typer.Typer) -> None:
    app.command()(replay)


def replay(
    ctx: typer.Context,
    worker: str = typer.Argument(help="backfill_sweep or handoff_intake."),
    source: str = typer.Argument(help="The source, as `oneroof source list` names it."),
    since: str = typer.Option(..., "--from", help=f"A timestamp of the source, or {START} for all of it."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what would change, and change nothing."),
) -> None:
    """Read a source again and add what is missing: candidates, marks of groups, signals. What is there stays as it is,
    and no signal is emitted twice, so a replay of a complete state adds nothing.

    The cursor stays where it is. Ctrl-C breaks off between two page ranges; run it again to go over the rest. Needs the
    lease of the worker (exit 5 if a process has it: oneroof pause WORKER) and the gate governance.workers_enabled.
    """
    session: Session = ctx.obj
    connection = session.connect_installed()
    (name,) = worker_names([worker])
    found = registration.find(connection, source)
    require_open(connection, GATE)
    instance = f"{platform.node() or 'oneroof'}-replay"
    held = lease.claim(connection, lease.executor_name(name, source), instance=instance)
    try:
        with session.meter("replay") as meter:

            def tell(done: int, total: int, what: Replayed) -> None:
                meter(f"{what.seen:,} rows, {what.written:,} changed", done, total)

            again = Replay(connection, name, found, held, since=moment(connection, found, since), is_dry=dry_run)
            what = again.run(tell)
    finally:
        if not connection.closed:
            lease.release(connection, held)
    document = {"worker": name, "source": source, "from": since, "dry_run": dry_run, **dataclasses.asdict(what)}
    would = "would be " if dry_run else ""
    session.emit(
        document,
        lambda out: out.print(
            f"{what.seen:,} rows read; {what.written:,} {would}changed, {what.signals:,} signals {would}made"
            + (f"; {what.failed:,} cannot be applied (oneroof dlq list)" if what.failed else "")
        ),
    )
