"""`oneroof pause | resume | policy list | policy set`: how the workers may behave."""

from __future__ import annotations

import dataclasses

import typer

from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.errors import Usage
from oneroof.runtime import policy as policies
from oneroof.runtime.policy import Policy
from oneroof.runtime.supervisor import worker_names

app = typer.Typer(help="Pace and limits of each worker, for every process that runs it.", no_args_is_help=True)
WORKER = typer.Argument(metavar="WORKER", help="A worker, with or without gov_.")


def register(root: typer.Typer) -> None:
    root.command()(pause)
    root.command()(resume)


def pause(ctx: typer.Context, worker: str = WORKER) -> None:
    """Pause a worker in every process that runs it, until it is resumed; it then goes on where it stood."""
    session: Session = ctx.obj
    (name,) = worker_names([worker])
    changed = policies.pause(session.connect_installed(), name)
    session.emit(
        {"worker": name, "paused": True, "changed": changed},
        lambda out: out.print(f"{name} is paused" + ("" if changed else "; it was already")),
    )


def resume(ctx: typer.Context, worker: str = WORKER) -> None:
    """Let a paused worker go on from where it stands."""
    session: Session = ctx.obj
    (name,) = worker_names([worker])
    changed = policies.resume(session.connect_installed(), name)
    session.emit(
        {"worker": name, "paused": False, "changed": changed},
        lambda out: out.print(f"{name} may work" + ("" if changed else "; it was not paused")),
    )


@app.command("list")
def list_policies(ctx: typer.Context) -> None:
    """Every worker's policy, one line per value. Times are UTC, intervals are seconds."""
    session: Session = ctx.obj
    found = list(policies.read(session.connect_installed()).values())
    _show(session, found, found)


@app.command("set")
def set_policy(
    ctx: typer.Context,
    worker: str = WORKER,
    values: list[str] = typer.Argument(metavar="NAME=VALUE", help="As `oneroof policy list` names them."),
) -> None:
    """Set values of a policy, all or none: batch_size=2000 lag_limit='10 minutes' off_peak_from=22:00 off_peak_to=6:00.

    An interval is in PostgreSQL's words or in seconds; NAME= with nothing behind it takes an optional limit away.
    """
    session: Session = ctx.obj
    (name,) = worker_names([worker])
    given: dict[str, str] = {}
    for word in values:
        key, equals, value = word.partition("=")
        if not equals or key in given:
            raise Usage(f"{word!r} is not NAME=VALUE, each name once", hint="oneroof policy set --help")
        given[key] = value
    connection = session.connect_installed()
    changed = policies.set_values(connection, name, given)
    found = policies.read(connection)[name]
    _show(session, {"changed": changed, "policy": found}, [found])


def _show(session: Session, document: object, found: list[Policy]) -> None:
    columns = ["value", *(policy.worker_name for policy in found)]
    named = [dataclasses.asdict(policy) for policy in found]
    cells = [(name, *(each[name] for each in named)) for name in ("paused_at", "paused_by", *policies.NAMES)]
    session.emit(document, lambda out: out.print(table(columns, cells)))
