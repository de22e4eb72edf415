"""`oneroof inbox list | read | mute | subscribe`: the signals that an office or a person wants to see."""

from __future__ import annotations

import json
from uuid import UUID

import typer

from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.errors import Usage
from oneroof.signals import inbox
from oneroof.signals.inbox import Inbox

app = typer.Typer(
    help="The signals that an office or a person wants to see, and what it has seen.", no_args_is_help=True
)
RECIPIENT = typer.Argument(help="An office, as GOV-SIV, or a person's code.")


@app.command("list")
def list_signals(
    ctx: typer.Context,
    recipient: str = RECIPIENT,
    everything: bool = typer.Option(False, "--all", help="Also what was read."),
    limit: int = typer.Option(inbox.MOST, min=1, max=inbox.MOST, help="How many at most."),
) -> None:
    """What the recipient is subscribed to and has not read, the newest first: each signal once."""
    session: Session = ctx.obj
    found = inbox.listing(session.connect_installed(), recipient, everything=everything, most=limit)
    columns = ["event", "at", "severity", "type", "subject", "says", *(["read"] if everything else [])]
    cells = [
        (
            n.event_id,
            _brief(n.emitted_at),
            n.severity,
            n.event_type,
            n.canonical_address,
            json.dumps(n.payload, ensure_ascii=False),
            *([_brief(n.read_at)] if everything else []),
        )
        for n in found.signals
    ]
    session.emit(found, lambda out: out.print(table(columns, cells) if cells else "nothing here"))
    session.say(f"{found.unread:,} unread, {found.read:,} read")
    if found.left_off:
        session.say(f"{found.left_off:,} older ones are not shown: --limit, {inbox.MOST} at most, or read some")
    _explain(session, found)


@app.command()
def read(
    ctx: typer.Context,
    recipient: str = RECIPIENT,
    chosen: list[UUID] = typer.Argument(None, metavar="[EVENT_ID]...", help="As `oneroof inbox list` shows them."),
    everything: bool = typer.Option(False, "--all", help="All that is unread now."),
) -> None:
    """Note that the recipient has seen these signals; each is noted once, however often it is repeated."""
    session: Session = ctx.obj
    if bool(chosen) == everything:
        raise Usage("which signals? some ids, or --all", hint=f"oneroof inbox list {recipient}")
    noted = inbox.read(session.connect_installed(), recipient, None if everything else chosen)
    session.emit(
        {"recipient": recipient, "noted": noted},
        lambda out: out.print(f"{noted:,} signals are read now" if noted else "nothing of it was unread"),
    )


@app.command()
def mute(
    ctx: typer.Context,
    recipient: str = RECIPIENT,
    pattern: str | None = typer.Option(None, "--type", help="Only subscriptions of this type; * stands for anything."),
    off: bool = typer.Option(False, "--off", help="Let them be heard again."),
) -> None:
    """Mute the recipient's subscriptions: their signals are hidden, and every finding stays as open as it is."""
    session: Session = ctx.obj
    done = inbox.mute(session.connect_installed(), recipient, pattern=pattern, on=not off)
    state = "heard again" if off else "muted"
    session.emit(
        {"recipient": recipient, "muted": not off, "subscriptions": done.found, "changed": done.changed},
        lambda out: out.print(f"{done.found} subscriptions are {state}, {done.changed} of them since now"),
    )
    if done.wide:
        session.say(f"{done.wide} of them are of every domain: what other domains say there is {state} too")


@app.command()
def subscribe(
    ctx: typer.Context,
    recipient: str = RECIPIENT,
    event_type: str | None = typer.Option(None, "--type", help="Only signals of this type."),
    stream: str | None = typer.Option(None, help="Only signals of this stream, as governance.handoff."),
    scope: str | None = typer.Option(None, "--filter", metavar="JSON", help="Only where the payload has all of this."),
    about: str | None = typer.Option(None, "--table", help="Only about rows of this table."),
) -> None:
    """Subscribe the recipient to signals, all of them or some; the same twice is one subscription."""
    session: Session = ctx.obj
    made = inbox.subscribe(
        session.connect_installed(), recipient, event_type=event_type, stream=stream, table=about, scope=scope
    )
    state = "subscribed" if made.is_new else "subscribed already"
    session.emit(made, lambda out: out.print(f"{recipient} is {state}", markup=False))
    if made.is_muted:
        session.say(f"the subscription is muted: oneroof inbox mute {recipient} --off")


def _explain(session: Session, found: Inbox) -> None:
    """Why nothing may come."""
    if not found.subscriptions:
        session.say(f"{found.recipient} has no subscription: oneroof inbox subscribe {found.recipient}")
    elif found.muted:
        session.say(f"{found.muted} of {found.subscriptions} subscriptions are muted")


def _brief(at: str | None) -> str | None:
    """A moment without its fractions."""
    return None if at is None else at[:19]
