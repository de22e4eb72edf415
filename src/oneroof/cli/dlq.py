"""`oneroof dlq list | show | replay | resolve`: items that failed every attempt; nothing here deletes one."""

from __future__ import annotations

import typer

from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.errors import Usage
from oneroof.failures import failed_items
from oneroof.failures.failed_items import Item
from oneroof.runtime.supervisor import worker_names

app = typer.Typer(help="Items that failed: they wait, die after the last attempt, and stay.", no_args_is_help=True)
STATES = ("waiting", "dead", "done", "resolved")
REPLAYED = ("dead", "resolved")
MOST = 500
ITEMS = typer.Argument(None, metavar="[ID]...", help="Items, as `oneroof dlq list` numbers them.")
WORKER = typer.Option(None, help="Only of this worker.")
SOURCE = typer.Option(None, help="Only of this source.")
ERROR = typer.Option(None, "--filter", help="Only with this SQLSTATE, or these words in the error.")


@app.command("list")
def list_items(
    ctx: typer.Context,
    state: str = typer.Option("dead,waiting", help="Which: waiting, dead, done, resolved, with commas; or all."),
    worker: str | None = WORKER,
    source: str | None = SOURCE,
    error: str | None = ERROR,
) -> None:
    """Failed items, the oldest first, at most 500."""
    session: Session = ctx.obj
    states = list(STATES) if state == "all" else [word.strip() for word in state.split(",")]
    for word in states:
        if word not in STATES:
            raise Usage(f"there is no state {word!r}", hint=f"states: {', '.join(STATES)}, all")
    rows = failed_items.listing(
        session.connect_installed(), states=states, worker=_worker(worker), source=source, error=error, most=MOST
    )
    session.emit(rows, lambda out: out.print(_table(rows) if rows else "no failed items"))
    if len(rows) == MOST:
        session.say(f"there may be more: only the oldest {MOST} are shown")


@app.command()
def show(ctx: typer.Context, item_id: int = typer.Argument(metavar="ID", help="The item.")) -> None:
    """One item with everything that is known of it."""
    session: Session = ctx.obj
    item = failed_items.find(session.connect_installed(), item_id)
    names = [name for name in Item.__slots__ if getattr(item, name) is not None]
    cells = [(name, getattr(item, name)) for name in names]
    session.emit(item, lambda out: out.print(table(["", ""], cells)))


@app.command()
def replay(
    ctx: typer.Context,
    items: list[int] = ITEMS,
    worker: str | None = WORKER,
    source: str | None = SOURCE,
    error: str | None = ERROR,
    everything: bool = typer.Option(False, "--all", help="All dead letters."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say which it would be, and do nothing."),
) -> None:
    """Give dead letters one more attempt, which a running worker makes at once. An item that was resolved too early is
    replayed by its number.
    """
    session: Session = ctx.obj
    connection = session.connect_installed()
    if items and (worker or source or error or everything):
        raise Usage("name items or describe them, not both")
    if not items:
        if not (worker or source or error or everything):
            raise Usage("say which dead letters", hint="oneroof dlq replay ID…, --filter, --source, --worker or --all")
        chosen = failed_items.listing(
            connection, states=["dead"], worker=_worker(worker), source=source, error=error, most=None
        )
    else:
        chosen = [item for item in (failed_items.find(connection, each) for each in items) if item.state in REPLAYED]
    woken = 0 if dry_run else failed_items.replay(connection, [item.item_id for item in chosen])
    document = {"items": [item.item_id for item in chosen], "replayed": woken, "dry_run": dry_run}
    said = f"would replay {len(chosen)}" if dry_run else f"{woken} dead letters get one more attempt"
    session.emit(document, lambda out: out.print(said))


@app.command()
def resolve(
    ctx: typer.Context,
    items: list[int] = typer.Argument(metavar="ID...", help="Items, as `oneroof dlq list` numbers them."),
    reason: str = typer.Option(..., help="Why no further attempt is needed."),
) -> None:
    """Say that failed items need no more attempts. They stay on record, with the reason and your login."""
    session: Session = ctx.obj
    connection = session.connect_installed()
    for each in items:
        failed_items.find(connection, each)
    ended = failed_items.resolve(connection, items, reason=reason)
    session.emit({"resolved": ended}, lambda out: out.print(f"{ended} resolved"))


def _worker(word: str | None) -> str | None:
    return None if word is None else worker_names([word])[0]


def _table(rows: list[Item]) -> object:
    columns = ["id", "worker", "source", "key", "state", "attempts", "next", "error"]
    cells = [
        (
            i.item_id,
            i.worker_name,
            i.source_name,
            i.source_key[:60],
            i.state,
            i.attempts,
            i.next_attempt_at,
            i.last_error,
        )
        for i in rows
    ]
    return table(columns, cells)
