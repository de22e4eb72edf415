"""`oneroof events list | register | activate | deactivate | promote | foreign | tail`: signals, and who lets them."""

from __future__ import annotations

import json
import select
import sys
import threading
import time
from pathlib import Path
from typing import Literal

import typer

from oneroof.cli.approvals import requested
from oneroof.cli.closed_pipe import ClosedPipe
from oneroof.cli.paper import table
from oneroof.cli.session import Session, escaped, stop_on_signal
from oneroof.database.connection import Connection, inspect
from oneroof.errors import Unavailable, Usage, printable
from oneroof.failures.batch_size import Width
from oneroof.people import gates, requests
from oneroof.signals import emission, event_types, outbox_reader
from oneroof.signals.outbox_reader import Place, Signal

app = typer.Typer(
    help="Signals: what may be said, who let it, and what was. A type is registered, then activated by two people.",
    no_args_is_help=True,
)
TYPES = typer.Argument(metavar="TYPE...", help="Types as `oneroof events list` names them; * stands for anything.")
POLL = 0.5
Format = Literal["cloudevents", "lines"]


@app.command("list")
def list_types(
    ctx: typer.Context,
    active: bool = typer.Option(False, "--active", help="Only those that are active."),
) -> None:
    """The vocabulary: what is registered and active with the host, who approved it, and how many events are held."""
    session: Session = ctx.obj
    connection = session.connect_installed()
    rows = [each for each in event_types.listing(connection) if each.is_active or not active]
    columns = ["type", "lane", "severity", "owner", "registered", "active", "approved by", "held", "meaning"]
    cells = [
        (
            t.event_type,
            t.delivery_lane,
            t.default_severity,
            t.owner_hint,
            t.is_registered,
            t.is_active,
            t.approved_by or ("no approval here" if t.is_active else None),
            t.held or None,
            t.description,
        )
        for t in rows
    ]
    session.emit(rows, lambda out: out.print(table(columns, cells) if rows else "no type is active"))
    for name, held in event_types.strays(connection).items():
        session.say(f"{held} events are held of the type {name}, which is in no vocabulary")
    if not any(gate.is_open for gate in gates.listing(connection) if gate.gate_key == emission.GATE):
        session.say(f"the gate {emission.GATE} is closed: whatever is active, every event is held")


@app.command("register")
def register_types(
    ctx: typer.Context,
    types: list[str] = typer.Argument(None, metavar="[TYPE]...", help="Only these; * stands for anything."),
) -> None:
    """Register the vocabulary, or some types of it, in the host's event_type_registry: inactive. What is registered
    already is left as it is, active or not.
    """
    session: Session = ctx.obj
    made = event_types.register(session.connect_installed(), types or [])
    session.emit(
        {"registered": made, "count": len(made)},
        lambda out: out.print(f"{len(made)} types are new in the registry, inactive" if made else "nothing was new"),
    )


@app.command()
def activate(
    ctx: typer.Context,
    types: list[str] = TYPES,
    reason: str = typer.Option(..., help="Why, for the person who decides."),
) -> None:
    """Ask for types to be made active, all or none of them.

    Another person approves with `oneroof approvals approve ID`. What was held until then is emitted by the next
    promotion, as `oneroof events promote` is one.
    """
    session: Session = ctx.obj
    connection = session.connect_installed()
    requested(session, requests.find(connection, event_types.request_activation(connection, types, reason=reason)))


@app.command()
def deactivate(
    ctx: typer.Context,
    types: list[str] = TYPES,
    reason: str | None = typer.Option(None, help="Why, for the record."),
) -> None:
    """Make types inactive at once; one person is enough. What is emitted at this moment is waited for."""
    session: Session = ctx.obj
    ended = event_types.deactivate(session.connect_installed(), types, reason=reason)
    session.emit(
        {"deactivated": ended, "count": len(ended)},
        lambda out: out.print(f"no longer active: {', '.join(ended)}" if ended else "none of them was active"),
    )


@app.command()
def promote(
    ctx: typer.Context,
    types: list[str] = typer.Argument(None, metavar="[TYPE]...", help="Only these; * stands for anything."),
    batch: int = typer.Option(emission.BATCH, min=1, max=50_000, help="How many in one transaction."),
) -> None:
    """Emit what is held of active types, each once, and in order for each subject. Needs the gate
    governance.emit_enabled (exit 3 if closed).
    """
    session: Session = ctx.obj
    connection = session.connect_installed()
    gates.require_open(connection, emission.GATE)
    chosen: list[str | None] = [*event_types.named(connection, types)] if types else [None]
    done, width = 0, Width(most=batch)
    with session.meter("promoting") as meter:
        # What waits for one of another type has its turn when that is gone.
        while moved := sum(emission.promote(connection, name, width=width) for name in chosen):
            done += moved
            meter(f"{done:,} events", 0, 0)
    session.emit({"promoted": done}, lambda out: out.print(f"{done:,} events left the hold"))


@app.command()
def foreign(ctx: typer.Context) -> None:
    """Governance rows of event_outbox that oneroof did not write, or that were altered since; exit 1 if any."""
    session: Session = ctx.obj
    rows = emission.foreign(session.connect_installed())
    columns = ["event", "type", "table", "ref", "written by", "at", "what"]
    cells = [
        (f.event_id, f.event_type, f.event_subject_table, f.event_subject_ref, f.source_system, f.created_at, f.reason)
        for f in rows
    ]
    session.emit(rows, lambda out: out.print(table(columns, cells) if rows else "every governance event is ours"))
    if rows:
        raise typer.Exit(1)


@app.command()
def tail(
    ctx: typer.Context,
    types: list[str] = typer.Option(None, "--type", help="Only of this type; * stands for anything. May be repeated."),
    after: str | None = typer.Option(None, metavar="CURSOR", help="Go on behind this cursor, as a line ended with it."),
    follow: bool = typer.Option(False, help="Wait for more, until Ctrl-C."),
    form: str = typer.Option("cloudevents", "--format", help="cloudevents (JSON lines) or lines."),
    cursor_file: Path | None = typer.Option(None, help="Go on behind the cursor in this file, and keep it there."),
    limit: int | None = typer.Option(None, min=1, help="End after so many."),
) -> None:
    """Print the signals of event_outbox as CloudEvents 1.0, one JSON document a line, each with the cursor behind it.

    A signal is printed when every transaction that began before its own is over, so that none is passed by; a reader
    that goes on from a cursor gets each signal behind it once.
    """
    session: Session = ctx.obj
    if form not in ("cloudevents", "lines"):
        raise Usage(f"there is no format {form!r}", hint="--format cloudevents or --format lines")
    if session.as_json and follow:
        raise Usage("--json is one document, and --follow never ends", hint="leave out --json: every line is JSON")
    if after is not None and cursor_file is not None:
        raise Usage("--after or --cursor-file, not both")
    connection = session.connect_installed()
    if inspect(connection).in_recovery:
        raise Unavailable("the server is a standby, whose horizon is not that of its primary", hint="name the primary")
    wanted = outbox_reader.patterns(connection, types or [])
    place, note = outbox_reader.begin(connection, after if cursor_file is None else outbox_reader.load(cursor_file))
    if note is not None:
        session.say(note)
    printer = Printer(session, connection, "lines" if form == "lines" else "cloudevents", cursor_file, place)
    stop = stop_on_signal() if follow else threading.Event()
    left = limit
    while not stop.is_set() and left != 0:
        started = time.monotonic()
        most = outbox_reader.PAGE if left is None else min(left, outbox_reader.PAGE)
        page = outbox_reader.read(connection, printer.place, types=wanted, most=most)
        took = time.monotonic() - started
        printer.print(page.signals, page.place, stop)
        left = None if left is None else left - len(page.signals)
        if page.more:
            continue
        if not follow:
            break
        # One twentieth of the time, at most, is spent on looking.
        if _wait(stop, max(POLL, 20 * took)):
            raise ClosedPipe
    if session.as_json:
        document = {"events": printer.collected, "cursor": printer.place.token()}
        session.emit(document, lambda _: None)


class Printer:
    """Writes signals out, and then moves the cursor."""

    def __init__(
        self, session: Session, connection: Connection, form: Format, cursor_file: Path | None, place: Place
    ) -> None:
        self.session, self.form, self.cursor_file, self.place = session, form, cursor_file, place
        self.source = outbox_reader.source_of(connection)
        self.collected: list[dict[str, object]] = []

    def print(self, found: list[Signal], behind: Place, stop: threading.Event) -> None:
        """All of them, or as many as came before a signal to stop; the cursor is behind what was written out."""
        reached = self.place
        try:
            for signal in found:
                if stop.is_set():
                    break
                self._write(signal)
                reached = signal.place
            else:
                reached = behind
            sys.stdout.flush()
        except BrokenPipeError:
            raise ClosedPipe from None
        moved, self.place = reached != self.place, reached
        if self.cursor_file is not None and moved:
            outbox_reader.save(self.cursor_file, self.place)

    def _write(self, signal: Signal) -> None:
        if self.session.as_json:
            self.collected.append(signal.cloud_event(source=self.source))
        elif self.form == "lines":
            sys.stdout.write(printable(signal.line()) + "\n")
        else:
            text = json.dumps(signal.cloud_event(source=self.source), ensure_ascii=False)
            sys.stdout.write(escaped(text) + "\n")


def _wait(stop: threading.Event, seconds: float) -> bool:
    """Wait a while; True if meanwhile the reader of our output went away."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    until = time.monotonic() + seconds
    while not stop.is_set() and (left := until - time.monotonic()) > 0:
        if any(event & (select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0)):
            return True
        stop.wait(min(left, POLL))
    return False
