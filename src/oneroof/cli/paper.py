"""What a person reads: the console on stdout or stderr, and tables of cells that are data.

Rich is loaded with this module, so `session` loads it when there is something to print.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from oneroof.cli.closed_pipe import ClosedPipe
from oneroof.errors import printable

# Of a table that goes into a file or another program.
WIDTH = 160


class Paper(Console):
    """A console on stdout or stderr that lets the caller decide what a closed pipe means."""

    def __init__(self, *, stderr: bool) -> None:
        super().__init__(stderr=stderr, highlight=False, soft_wrap=True)
        if not self.is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
            self.width = WIDTH

    def on_broken_pipe(self) -> None:
        raise ClosedPipe


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None) -> Table:
    """A table of cells that are data, never markup; control characters are replaced."""
    built = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        built.add_column(column, overflow="fold")
    for row in rows:
        built.add_row(*(cell if isinstance(cell, Text) else Text(_cell(cell)) for cell in row))
    return built


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(map(_cell, value))
        case _ if hasattr(value, "isoformat"):
            return str(value.isoformat(sep=" ", timespec="seconds"))
        case _:
            return printable(str(value))
