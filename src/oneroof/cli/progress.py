"""Progress that fits where it is shown: a live bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

LINE_EVERY = 5.0


class Meter:
    """Called with a label, what is done and what there is to do."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._bar: Progress | None = None
        self._said = time.monotonic()
        if console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(compact=True),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, label: str, done: int, total: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=f"{self._title}: {label}", completed=done, total=total)
        elif time.monotonic() - self._said >= LINE_EVERY:
            self._said = time.monotonic()
            self._console.print(Text(f"{self._title}: {label}, {100 * done // max(total, 1)} %"))
