"""`oneroof demo`: everything at once, on the embedded server, for somebody who has never seen it."""

from __future__ import annotations

import fcntl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from oneroof import approvals, gates, migrate, owners
from oneroof import doctor as examination
from oneroof.cli.doctor import show
from oneroof.cli.session import Session, table
from oneroof.db import Connection, inspect, one, saying
from oneroof.errors import HeldElsewhere, Refused
from oneroof.estate.build import DEFAULT_ROWS, DEFAULT_SEED, build
from oneroof.estate.mark import built
from oneroof.estate.owners import owners_file
from oneroof.lane import Report
from oneroof.supervisor import Supervisor, worker_names

GATES = ("governance.workers_enabled", "governance.emit_enabled")


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    ctx: typer.Context,
    rows: int = typer.Option(DEFAULT_ROWS, min=1, help="Births in the estate."),
    once: bool = typer.Option(False, "--once", help="End when everything has been shown."),
) -> None:
    """Show oneroof on the embedded server: estate, install, gates opened by two people, owners, the first
    sweep, examination.

    A second run finds what the first one built and goes on from there; other --rows build it anew.
    """
    del once  # nothing is served yet
    session: Session = ctx.obj
    if session.settings.dsn:
        session.say("demo works on the embedded server; the DSN that is set is not touched")
    server = session.embedded
    with _only_demo(session.settings.home):
        connection = session.connect(server.dsn())
        inspect(connection)
        known = built(connection)
        if known is not None and known[1] != DEFAULT_SEED:
            raise Refused(
                "the embedded database has an estate that is not the demo's, and it is not touched",
                hint="set ONEROOF_HOME to another folder",
            )
        if known is not None and known[0] != rows:
            session.say(f"the estate here has {known[0]:,} births; building one of {rows:,} instead")
            connection.close()
            with saying("dropping the old estate"):
                session.connect(server.dsn("postgres")).execute("DROP DATABASE oneroof")
            server.ensure_database("oneroof")
            connection = session.connect(server.dsn())
            known = None
        if known is None:
            with session.meter("estate") as meter:
                estate = build(connection, rows=rows, seed=DEFAULT_SEED, progress=meter)
            session.say(f"1. the estate: {estate.rows:,} births, built in {estate.seconds:.1f} s")
        else:
            session.say(f"1. the estate: {known[0]:,} births, built before")
        changed = migrate.install(connection, settings=session.settings)
        session.say(f"2. oneroof {'installed' if changed else 'was installed'}: additive, nothing of the host altered")
        _open_gates(session)
        _import_owners(session, connection)
        seen = _sweep(session, connection)
        report = examination.examine(connection)
        state = gates.listing(connection)
    columns = ["gate", "open", "asked by", "approved by", "meaning"]
    cells = [(g.gate_key, g.is_open, g.requested_by, g.approved_by, g.description) for g in state]

    def human(out: Console) -> None:
        out.print(table(columns, cells))
        show(out, report)

    session.emit({"rows": rows, "seen": seen, "gates": state, "well": report.well, "checks": report.checks}, human)
    if not report.well:
        raise typer.Exit(1)


def _sweep(session: Session, connection: Connection) -> int:
    """Every birth into a candidate row, and whatever changed since the last time."""
    started, swept = time.monotonic(), 0
    with session.meter("workers") as meter:

        def tell(report: Report) -> None:
            nonlocal swept
            if report.step is not None:
                swept += report.step.seen
                meter(f"{report.executor}, {swept:,} rows", min(swept, rows_of), rows_of)

        (rows_of,) = one(connection, "SELECT greatest(count(*), 1) FROM public.birth_registry")
        supervisor = Supervisor(
            dial=lambda: session.dial(session.embedded.dsn()),
            workers=worker_names([]),
            instance="demo",
            mode="until idle",
            stop=threading.Event(),
            tell=tell,
        )
        seen = supervisor.run()
    session.say(f"5. workers: {seen:,} rows swept in {time.monotonic() - started:.1f} s, each into a candidate row")
    return seen


def _open_gates(session: Session) -> None:
    """Two people, two logins, two connections: the requester asks, the approver approves."""
    asking = session.connect(session.embedded.dsn(user="requester"))
    deciding = session.connect(session.embedded.dsn(user="approver"))
    shut = [gate.gate_key for gate in gates.listing(asking) if gate.gate_key in GATES and not gate.is_open]
    for key in shut:
        request = gates.request(asking, key, reason="demo")
        approvals.decide(deciding, request, "approved", reason="demo")
    session.say(f"3. gates: requester asked and approver opened {', '.join(shut) if shut else 'none, they were open'}")


def _import_owners(session: Session, connection: Connection) -> None:
    """The requester says who answers for most collections, from a file that stays to be looked at."""
    file = session.settings.home / "owners.csv"
    text = owners_file(connection)
    file.write_text(text, encoding="utf-8")
    done = owners.take(session.connect(session.embedded.dsn(user="requester")), text.encode(), form="csv")
    session.say(f"4. owners: requester imported {file}: {done}")


@contextmanager
def _only_demo(home: Path) -> Iterator[None]:
    """One demo at a time per data folder."""
    with (home / "demo.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeldElsewhere(
                f"another demo runs on {home}", hint="wait for it, or set ONEROOF_HOME to another folder"
            ) from None
        yield
