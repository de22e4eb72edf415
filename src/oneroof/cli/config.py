"""`oneroof config show`: every setting, its value, its default, and where the value came from."""

from __future__ import annotations

import typer

from oneroof import config as settings_of
from oneroof.cli.paper import table
from oneroof.cli.session import Session

app = typer.Typer(help="What is set, and where from.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """What is set, and where from."""


@app.command()
def show(ctx: typer.Context) -> None:
    """List every setting with its value, default and origin. Passwords are blanked."""
    session: Session = ctx.obj
    rows = settings_of.origins(session.settings, **session.given)
    session.emit(
        rows,
        lambda out: out.print(
            table(
                ["setting", "value", "default", "origin", "meaning"],
                [(row.name, row.value, row.default, row.origin, row.description) for row in rows],
            )
        ),
    )
