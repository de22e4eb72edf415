"""`oneroof demo`: everything at once, on the embedded server: install, sweep, judge, prove."""

from __future__ import annotations

import fcntl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from oneroof.cli.doctor import show_briefly
from oneroof.cli.prove import show as show_books
from oneroof.cli.session import Session
from oneroof.database.connection import Connection, inspect
from oneroof.database.statements import one
from oneroof.database.transaction import saying
from oneroof.errors import HeldElsewhere, Refused
from oneroof.estate.build import DEFAULT_ROWS, DEFAULT_SEED, build
from oneroof.estate.live import live
from oneroof.estate.mark import built
from oneroof.estate.owners import owners_file
from oneroof.install import doctor as examination
from oneroof.install import migrate
from oneroof.people import gates, owners, requests
from oneroof.proof import certificate, certificate_store, prove
from oneroof.proof.certificate_store import Kept
from oneroof.runtime.progress import Report
from oneroof.runtime.supervisor import Supervisor, worker_names
from oneroof.signals import event_types

# How fast the estate lives while it is shown, and for how long.
CHANGES, SECONDS = 300.0, 4.0
GATES = ("governance.workers_enabled", "governance.emit_enabled")
SIGNALS = "governance.handoff.*"
TOLD = """SELECT s.event_type, count(*) FROM oneroof.v_signal AS s
          WHERE s.event_stream = 'governance.handoff' GROUP BY 1 ORDER BY 2 DESC, 1"""


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    ctx: typer.Context,
    rows: int = typer.Option(DEFAULT_ROWS, min=1, help="Births in the estate."),
    once: bool = typer.Option(False, "--once", help="End when everything has been shown."),
) -> None:
    """Show oneroof on the embedded server: estate, install, gates opened by two people, owners, a verdict for
    every object, the proof; then the estate changes, is absorbed, and the books close again.

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
        started = time.monotonic()
        seen = _work(session, connection, worker_names([]))
        session.say(f"5. workers: {seen:,} rows in {time.monotonic() - started:.1f} s, each with its verdict")
        first = _prove(session, connection)
        session.say("6. the books, closed in one snapshot")
        session.show(lambda out: show_books(out, first.certificate))
        _change(session, connection)
        second = _prove(session, connection)
        report = examination.examine(connection)
        session.say("8. the doctor, who has looked at everything")
        session.show(lambda out: show_briefly(out, report))
        session.say(f"9. the books after that, certificate {second.sequence}, chained to {first.sequence}")
        state = gates.listing(connection)

    def human(out: Console) -> None:
        show_books(out, second.certificate)
        out.print("look around: oneroof status, oneroof trace KEY, oneroof doctor, oneroof --help")

    balanced = bool(first.certificate["balanced"] and second.certificate["balanced"])
    document = {"rows": rows, "seen": seen, "gates": state, "well": report.well, "checks": report.checks}
    session.emit({**document, "balanced": balanced, "before": first.certificate, "after": second.certificate}, human)
    if not (report.well and balanced):
        raise typer.Exit(1)


def _work(session: Session, connection: Connection, workers: list[str], *, named: bool = False) -> int:
    """Some workers until there is nothing left to do; rows seen."""
    swept = 0
    with session.meter("workers") as meter:

        def tell(report: Report) -> None:
            nonlocal swept
            if report.step is not None:
                swept += report.step.seen
                meter(f"{report.executor}, {swept:,} rows", min(swept, rows_of), rows_of)

        (rows_of,) = one(connection, "SELECT greatest(count(*), 1) FROM public.birth_registry")
        supervisor = Supervisor(
            dial=lambda: session.dial(session.embedded.dsn()),
            workers=workers,
            named=named,
            instance="demo",
            mode="until idle",
            stop=threading.Event(),
            tell=tell,
        )
        return supervisor.run()


def _change(session: Session, connection: Connection) -> None:
    """Let the host live for some seconds while the workers run, and then let them finish; what was deleted, the audit
    finds.
    """
    over = threading.Event()
    following = Supervisor(
        dial=lambda: session.dial(session.embedded.dsn()),
        workers=worker_names([]),
        instance="demo",
        mode="for ever",
        stop=over,
        tell=lambda _: None,
    )
    thread = threading.Thread(target=following.run, name="workers")
    thread.start()
    try:
        with session.meter("the estate lives") as meter:
            done = live(
                session.connect(session.embedded.dsn()),
                rate=CHANGES,
                seconds=SECONDS,
                on_tick=lambda counts: meter("changes", counts.issued, round(CHANGES * SECONDS)),
            )
    finally:
        over.set()
        thread.join()
    _work(session, connection, worker_names([]))
    _work(session, connection, worker_names(["periodic_full_audit"]), named=True)
    _work(session, connection, worker_names([]))
    kinds = ("births", "certifications", "retirements", "deletions")
    told = ", ".join(f"{getattr(done, kind):,} {kind}" for kind in kinds)
    session.say(f"7. the estate changed: {told}; absorbed, and the deleted are tombstones")
    signals = connection.execute(TOLD).fetchall()
    counted = ", ".join(f"{count:,} {kind.rsplit('.', 1)[1]}" for kind, count in signals)
    session.say(f"   signals: {counted or 'none'} (oneroof events tail)")


def _prove(session: Session, connection: Connection) -> Kept:
    with session.meter("proving") as meter:
        found = prove.prove(connection, deep=False, progress=meter, others=[session.connect()])
    return certificate_store.keep(connection, found, key=certificate.private_key(session.settings.signing_key))


def _open_gates(session: Session) -> None:
    """Two people, two logins, two connections: the requester asks, the approver approves."""
    asking = session.connect(session.embedded.dsn(user="requester"))
    deciding = session.connect(session.embedded.dsn(user="approver"))
    shut = [gate.gate_key for gate in gates.listing(asking) if gate.gate_key in GATES and not gate.is_open]
    for key in shut:
        request = gates.request(asking, key, reason="demo")
        requests.decide(deciding, request, "approved", reason="demo")
    session.say(f"3. gates: requester asked and approver opened {', '.join(shut) if shut else 'none, they were open'}")
    event_types.register(asking)
    dumb = [each.event_type for each in event_types.listing(asking) if each.family == "handoff" and not each.is_active]
    if dumb:
        requests.decide(
            deciding, event_types.request_activation(asking, [SIGNALS], reason="demo"), "approved", reason="demo"
        )
        session.say(f"   signals: requester registered all types, and approver activated {SIGNALS}")


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
