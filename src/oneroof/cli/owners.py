"""`oneroof owners import | export | list`: who answers for what."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import typer

from oneroof.cli.closed_pipe import ClosedPipe
from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.errors import Usage
from oneroof.people import owners, owners_file
from oneroof.people.owners import Answering
from oneroof.people.owners_file import FORMATS, RESPONSIBILITIES

app = typer.Typer(help="Who answers for what: people and offices, from a file.", no_args_is_help=True)
FORMAT = typer.Option(None, "--format", help="csv or yaml; the file's suffix unless said.")
SUFFIXES = {".csv": "csv", ".yaml": "yaml", ".yml": "yaml"}
MOST = 500


@app.command("import")
def import_owners(
    ctx: typer.Context,
    file: str = typer.Argument(help="A .csv, .yaml or .yml file; - is stdin."),
    form: str | None = FORMAT,
    replace: bool = typer.Option(False, "--replace", help="End now whatever the file does not name."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what it would do, and do nothing."),
) -> None:
    """Import owners: level, subject, responsibility, owner, and optionally valid_from and valid_to; all or none.

    Levels are object, collection, class and scope; responsibilities are policy, health, execution, render, approval
    and audit. The same file again changes nothing.
    """
    session: Session = ctx.obj
    chosen = _format(file, form)
    try:
        raw = sys.stdin.buffer.read(owners.LARGEST + 1) if file == "-" else _read(Path(file))
    except (OSError, ValueError) as error:
        raise Usage(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    done = owners.take(session.connect_installed(), raw, form=chosen, replace=replace, dry_run=dry_run)
    session.emit(done, lambda out: out.print(f"{'would be ' if dry_run else ''}{done}"))


@app.command()
def export(
    ctx: typer.Context,
    file: str = typer.Argument(help="A new .csv, .yaml or .yml file; - is stdout."),
    form: str | None = FORMAT,
) -> None:
    """Export every owner that was imported, also ended ones, so that importing the file changes nothing."""
    session: Session = ctx.obj
    chosen = _format(file, form)
    if file == "-" and session.as_json:
        raise Usage("with --json stdout is one JSON document, not a file", hint="name a file, or leave --json out")
    lines = owners.recorded(session.connect_installed())
    text = owners_file.write(lines, form=chosen)
    if file == "-":
        try:
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise ClosedPipe from None
        return
    try:
        with Path(file).open("x", encoding="utf-8", newline="") as out:
            out.write(text)
    except (OSError, ValueError) as error:
        raise Usage(f"cannot write {file}: {getattr(error, 'strerror', None) or error}") from None
    session.emit({"file": file, "exported": len(lines)}, lambda out: out.print(f"{len(lines)} exported to {file}"))


@app.command("list")
def list_owners(
    ctx: typer.Context,
    subject: str | None = typer.Option(None, help="Only this collection, or the object with this candidate key."),
) -> None:
    """Who answers for each collection now, the nearest level first found; at most 500, with --json all.

    The collection * is any that is not known. Two owners with ≠ between them are a conflict.
    """
    session: Session = ctx.obj
    rows = owners.listing(session.connect_installed(), subject=subject)
    places = [
        (source, name, {each.responsibility: each for each in some})
        for (source, name), some in groupby(rows, key=lambda row: (row.source_name, row.subject))
    ]
    cells = [(source, name, *_cells(found)) for source, name, found in places[:MOST]]
    session.emit(
        rows,
        lambda out: out.print(table(["source", "subject", *RESPONSIBILITIES], cells) if cells else "no owners"),
    )
    if len(places) > MOST:
        session.say(f"{len(places) - MOST} more are not shown: oneroof owners list --json")
    session.say(
        f"{len(places)} subjects: {sum(any(each.is_conflict for each in found.values()) for _, _, found in places)} "
        f"with a conflict, {sum(_has_gap(found) for _, _, found in places)} with a gap"
    )


def _cells(found: dict[str, Answering]) -> Iterable[str]:
    for responsibility in RESPONSIBILITIES:
        each = found.get(responsibility)
        yield "" if each is None or each.level is None else f"{' ≠ '.join(each.owners)} ({each.level})"


def _has_gap(found: dict[str, Answering]) -> bool:
    return any(name not in found or found[name].level is None for name in RESPONSIBILITIES)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(owners.LARGEST + 1)


def _format(file: str, given: str | None) -> str:
    chosen = given or SUFFIXES.get(Path(file).suffix.lower())
    if chosen is None:
        raise Usage(f"the format of {file} is not known", hint="--format csv or --format yaml")
    if chosen not in FORMATS:
        raise Usage(f"there is no format {chosen!r}", hint=f"formats are {', '.join(FORMATS)}")
    return chosen
