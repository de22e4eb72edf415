"""`oneroof estate build | live`: the replica of the host, and the load that keeps it changing."""

from __future__ import annotations

import threading

import typer

from oneroof.cli.session import Session
from oneroof.database.connection import inspect
from oneroof.estate.build import DEFAULT_ROWS, DEFAULT_SEED, build
from oneroof.estate.live import LiveCounts, live

app = typer.Typer(help="A replica of the host system with simulated data, for trial and tests.", no_args_is_help=True)
SEED = typer.Option(DEFAULT_SEED, help="The same seed and rows give the same estate.")


@app.command("build")
def build_estate(
    ctx: typer.Context,
    rows: int = typer.Option(DEFAULT_ROWS, help="Births; every other volume follows in proportion."),
    seed: int = SEED,
) -> None:
    """Create the host's tables in an empty database and fill them. All or nothing.

    Refuses a database that already has any of these tables. Creates the logins requester, approver, requester_alt
    and viewer where they are missing.
    """
    session: Session = ctx.obj
    connection = session.connect()
    inspect(connection)
    with session.meter("estate") as meter:
        estate = build(connection, rows=rows, seed=seed, progress=meter)
    session.emit(
        estate,
        lambda out: out.print(f"estate of {estate.rows:,} births built in {estate.seconds:.1f} s"),
    )


@app.command("live")
def live_estate(
    ctx: typer.Context,
    rate: float = typer.Option(100.0, min=0.1, max=1e6, help="Changes per second, all kinds together."),
    seconds: float | None = typer.Option(None, "--for", min=0, help="Stop after so many seconds; else on Ctrl-C."),
    seed: int = SEED,
) -> None:
    """Keep the estate changing: births, changes, certifications, retirements, deletions."""
    session: Session = ctx.obj
    connection = session.connect()
    inspect(connection)
    stop = threading.Event()
    counts = LiveCounts()

    with session.meter("live") as meter:

        def tick(now: LiveCounts) -> None:
            nonlocal counts
            counts = now
            meter("changes", now.issued, int(rate * seconds) if seconds else now.issued)

        try:
            counts = live(connection, rate=rate, seed=seed, seconds=seconds, stop=stop, on_tick=tick)
        except KeyboardInterrupt:
            session.say("stopped")
    session.emit(counts, lambda out: out.print(f"{counts.issued:,} changes made"))
