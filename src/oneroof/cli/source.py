"""`oneroof source list | add | check | trust | remove`: what is tailed."""

from __future__ import annotations

from dataclasses import asdict

import typer

from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.errors import Usage
from oneroof.sources import change_kinds, class_catalog, own_objects, registration, removal, source
from oneroof.sources.change_kinds import Kind
from oneroof.sources.source import Source

app = typer.Typer(help="The tables that are tailed. Adding one is adding a row, never code.", no_args_is_help=True)
mapping = typer.Typer(help="Which change of a source is of which kind, and what it dirties.", no_args_is_help=True)
app.add_typer(mapping, name="map")
REASON = typer.Option(..., help="Why, for the person who decides.")
NAME = typer.Argument(help="The source, as `oneroof source list` names it.")


@app.command("list")
def list_sources(ctx: typer.Context) -> None:
    """Every source, with the columns that play a part."""
    session: Session = ctx.obj
    connection = session.connect_installed()
    rows = registration.listing(connection)
    for lost in registration.lost(connection):
        session.say(f"the table of source {lost} is not there any more: oneroof source remove {lost}")
    _show(session, rows, rows)


@app.command()
def add(
    ctx: typer.Context,
    table_name: str | None = typer.Argument(
        None, metavar="TABLE", help='A table as SQL names it: births, app.births, "Odd Name".'
    ),
    key: str | None = typer.Option(None, help="The column or columns that make a row unique, with commas."),
    timestamp: str | None = typer.Option(None, help="The column a row is dated by, if it has one."),
    ref: str | None = typer.Option(None, help="The column that names the object; the key unless said."),
    group_by: str = typer.Option("", help="Columns that a change of an object dirties together, with commas."),
    facts: str = typer.Option("", help="Columns that rules may look at, with commas."),
    kind: str = typer.Option(source.INVENTORY, help="inventory, changelog or register."),
    of_class: str | None = typer.Option(
        None, "--class", help="The column that names the class; the source unless said."
    ),
    system: str | None = typer.Option(None, help="The column that names the system a row came from."),
    actor: str | None = typer.Option(None, help="The column that names who wrote a row."),
    births: bool = typer.Option(False, "--births", help="Its rows are births themselves, as those of birth_registry."),
    from_catalog: bool = typer.Option(
        False, "--catalog", help="Instead of a table: every registry that meta_catalog names and that is not tailed."
    ),
    of_ours: bool = typer.Option(
        False, "--own", help="Instead of a table: oneroof's own rules, gates, workers and sources."
    ),
) -> None:
    """Tail one more table. Needs the right to grant SELECT on it; nothing in it is altered.

    The rows of an inventory are objects, those of a changelog are changes, and those of a register are changed in
    place: when one is no longer what it was, that is a change. `oneroof source map` says what follows from changes.
    An object that no source of births has is not born yet, and its verdict is deferred.
    """
    session: Session = ctx.obj
    if from_catalog or of_ours:
        if table_name is not None or key is not None or (from_catalog and of_ours):
            raise Usage("--catalog and --own stand instead of a TABLE and its --key")
        if from_catalog:
            _add_registries(session)
        else:
            ours = own_objects.register(session.connect_installed())
            _show(session, ours, ours)
        return
    if table_name is None or key is None:
        raise Usage("a TABLE and its --key are needed, or --catalog, or --own")
    added = registration.add(
        session.connect_installed(),
        table_name,
        key=_names(key),
        kind=kind,
        timestamp=timestamp,
        ref=ref,
        group_by=_names(group_by),
        facts=_names(facts),
        of_class=of_class,
        system=system,
        actor=actor,
        births=births,
    )
    _show(session, added, [added])
    if not added.key_is_unique:
        key = ", ".join(added.key_columns)
        session.say(f"no unique index of {added.source_name} is on ({key}): rows that share a key are taken for one")


def _add_registries(session: Session) -> None:
    found = class_catalog.register(session.connect_installed())
    cells = [(each.registry, each.added, each.reason, len(each.classes)) for each in found]
    session.emit(found, lambda out: out.print(table(["registry", "added", "left out, since", "classes"], cells)))
    if any(each.added for each in found):
        session.say("what was added counts when two people trust it: oneroof source trust NAME --reason …")


@app.command()
def check(ctx: typer.Context, name: str | None = typer.Argument(None, help="Only this source.")) -> None:
    """See whether every source still is what it was when it was added; exit 1 if not."""
    session: Session = ctx.obj
    connection = session.connect_installed()
    gone = [lost for lost in registration.lost(connection) if name in (None, lost)]
    chosen = registration.listing(connection) if name is None else [] if gone else [registration.find(connection, name)]
    found = {source.source_name: registration.check(connection, source) for source in chosen}
    found |= {lost: [f"its table is not there any more; oneroof source remove {lost}"] for lost in gone}
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
    request = registration.request_trust(session.connect_installed(), name, reason=reason)
    session.emit(
        {"request_id": request, "source": name},
        lambda out: out.print(f"request {request}: another person decides with `oneroof approvals approve {request}`"),
    )


@app.command()
def remove(
    ctx: typer.Context,
    name: str = NAME,
    retire: bool = typer.Option(False, "--retire", help="Retire its objects; they are kept as tombstones."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say how many objects there are, and do nothing."),
) -> None:
    """Stop tailing a table. Its objects stay as they are, and every proof tells of them, until they are retired.

    They are retired some at a time. If this is broken off, a running worker or the same command once more goes on.
    """
    session: Session = ctx.obj
    connection = session.connect_installed()
    was_removed = retire and removal.is_left(connection, name)
    known = None if was_removed or name in registration.lost(connection) else registration.find(connection, name)
    objects = removal.count(connection, name) if known is None or known.source_kind == source.INVENTORY else 0
    document = {**({"source_name": name} if known is None else asdict(known)), "objects": objects, "dry_run": dry_run}
    if dry_run:
        said = f"{name} has {objects:,} objects, which would be {'retired' if retire else 'kept as they are'}"
        session.emit({**document, "retired": 0}, lambda out: out.print(said))
        return
    if was_removed:
        registration.let_go(connection, name)
    else:
        registration.remove(connection, name, retire=retire)
    retired = 0
    with session.meter("retiring") as meter:
        while retire and (buried := removal.bury(connection, name)) is not None:
            retired += buried
            meter(f"objects of {name}", retired, max(retired, objects))
    if objects and not retire:
        session.say(f"{objects:,} objects are kept as they are; oneroof source remove {name} --retire retires them")
    ending = f": {retired:,} objects are retired" if retired else ""
    session.emit({**document, "retired": retired}, lambda out: out.print(f"{name} is no longer a source{ending}"))


@mapping.command("list")
def list_kinds(ctx: typer.Context, name: str | None = typer.Argument(None, help="Only this source.")) -> None:
    """Every mapping, in the order in which it is asked; * is any inventory that has none of its own."""
    session: Session = ctx.obj
    found = change_kinds.listing(session.connect_installed(), name)
    _show_kinds(session, found, found)


@mapping.command("add")
def add_kind(
    ctx: typer.Context,
    code: str = typer.Argument(help="A name for the mapping; the same again replaces it."),
    name: str = typer.Option(..., "--source", help="The source whose changes it is about."),
    kind: str = typer.Option(..., help=f"One of {', '.join(change_kinds.KINDS)}."),
    priority: int = typer.Option(..., help="Lower is asked first; the first that fits counts."),
    when: str | None = typer.Option(None, help="A jsonpath over the row, its values as texts; every row unless said."),
    dirties: str = typer.Option("class", help="object, class, collection (named by the row's ref) or all."),
    on: str = typer.Option("any", help="any, birth or update."),
    dimension: list[str] = typer.Option([], metavar="NAME=COLUMN", help="What makes the group; @class, @source too."),
    description: str = typer.Option("", help="In words."),
) -> None:
    """Say that changes of a source are of a kind: oneroof source map add deals_closed --source deals --priority 10
    --kind object_retired --when '$.status == "closed"' --dimension object_class=@class
    """
    session: Session = ctx.obj
    pairs = {name: column for name, _, column in (each.partition("=") for each in dimension)}
    if not all(pairs.values()):
        raise Usage("a --dimension is NAME=COLUMN")
    added = change_kinds.add(
        session.connect_installed(),
        code,
        source=name,
        kind=kind,
        priority=priority,
        dirties=dirties,
        predicate=when,
        on_change=on,
        dimensions=pairs,
        description=description,
    )
    _show_kinds(session, added, [added])


@mapping.command("remove")
def remove_kind(ctx: typer.Context, code: str = typer.Argument(help="As `source map list` names it.")) -> None:
    """Forget a mapping. Changes that no other fits are then seen and not handed off."""
    session: Session = ctx.obj
    change_kinds.remove(session.connect_installed(), code)
    session.emit({"removed": code}, lambda out: out.print(f"{code} is no longer a mapping"))


def _show_kinds(session: Session, document: object, rows: list[Kind]) -> None:
    columns = ["mapping", "source", "priority", "on", "when", "kind", "dirties", "group"]
    cells = [
        (k.map_code, k.source_name, k.priority, k.on_change, k.predicate, k.change_kind, k.dirties, list(k.dimensions))
        for k in rows
    ]
    session.emit(document, lambda out: out.print(table(columns, cells)))


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
