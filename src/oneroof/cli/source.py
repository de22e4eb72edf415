"""`oneroof source list | add | check | trust | remove`: what is tailed."""

from __future__ import annotations

import typer

from oneroof import source as sources
from oneroof.cli.session import Session, table
from oneroof.source import Source

app = typer.Typer(help="The tables that are tailed. Adding one is adding a row, never code.", no_args_is_help=True)
REASON = typer.Option(..., help="Why, for the person who decides.")
NAME = typer.Argument(help="The source, as `oneroof source list` names it.")


@app.command("list")
def list_sources(ctx: typer.Context) -> None:
    """Every source, with the columns that play a part."""
    session: Session = ctx.obj
    rows = sources.listing(session.connect_installed())
    _show(session, rows, rows)


@app.command()
def add(
    ctx: typer.Context,
    table_name: str = typer.Argument(metavar="TABLE", help='A table as SQL names it: births, app.births, "Odd Name".'),
    key: str = typer.Option(..., help="The column or columns that make a row unique, with commas."),
    timestamp: str | None = typer.Option(None, help="The column a row is dated by, if it has one."),
    ref: str | None = typer.Option(None, help="The column that names the object; the key unless said."),
    group_by: str = typer.Option("", help="Columns that a change of an object dirties together, with commas."),
    facts: str = typer.Option("", help="Columns that rules may look at, with commas."),
    kind: str = typer.Option(sources.INVENTORY, help="inventory: rows are objects; changelog: rows are changes."),
) -> None:
    """Tail one more table. Needs the right to grant SELECT on it; nothing in it is altered."""
    session: Session = ctx.obj
    added = sources.add(
        session.connect_installed(),
        table_name,
        key=_names(key),
        kind=kind,
        timestamp=timestamp,
        ref=ref,
        group_by=_names(group_by),
        facts=_names(facts),
    )
    _show(session, added, [added])
    if not added.key_is_unique:
        key = ", ".join(added.key_columns)
        session.say(f"no unique index of {added.source_name} is on ({key}): rows that share a key are taken for one")


@app.command()
def check(ctx: typer.Context, name: str | None = typer.Argument(None, help="Only this source.")) -> None:
    """See whether every source still is what it was when it was added; exit 1 if not."""
    session: Session = ctx.obj
    connection = session.connect_installed()
    chosen = sources.listing(connection) if name is None else [sources.find(connection, name)]
    found = {source.source_name: sources.check(connection, source) for source in chosen}
    cells = [(name, "; ".join(problems) or "well") for name, problems in found.items()]
    session.emit(found, lambda out: out.print(table(["source", "found"], cells)))
    if any(found.values()):
        raise typer.Exit(1)


@app.command()
def trust(
    ctx: typer.Context, name: str = NAME, reason: str = typer.Option(..., help="Why, for the person who decides.")
) -> None:
    """Ask that the rows of a source count. Until another person approves it, its objects are undecided: untrusted."""
    session: Session = ctx.obj
    request = sources.request_trust(session.connect_installed(), name, reason=reason)
    session.emit(
        {"request_id": request, "source": name},
        lambda out: out.print(f"request {request}: another person decides with `oneroof approvals approve {request}`"),
    )


@app.command()
def remove(ctx: typer.Context, name: str = NAME) -> None:
    """Stop tailing a table. Its candidates stay until the audit has looked at them."""
    session: Session = ctx.obj
    removed = sources.remove(session.connect_installed(), name)
    session.emit(removed, lambda out: out.print(f"{name} is no longer a source"))


def _names(words: str) -> list[str]:
    return [word for word in words.split(",") if word]


def _show(session: Session, document: object, rows: list[Source]) -> None:
    columns = ["source", "kind", "trusted", "timestamp", "key", "object", "group", "facts"]
    cells = [
        (
            s.source_name,
            s.source_kind,
            s.is_trusted,
            s.timestamp_column,
            s.key_columns,
            s.ref_column,
            s.group_columns,
            s.fact_columns,
        )
        for s in rows
    ]
    session.emit(document, lambda out: out.print(table(columns, cells)))
