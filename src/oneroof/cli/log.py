"""The log of a long run: words for a person on a terminal, one JSON object a line for everything else."""

from __future__ import annotations

from typing import Any

import structlog
from rich.console import Console
from rich.text import Text

from oneroof.errors import printable


def logger(console: Console) -> Any:
    """A structlog logger that writes to this console."""
    processors: list[Any] = [structlog.processors.TimeStamper(fmt="iso", utc=True), structlog.processors.add_log_level]
    processors.append(_speak if console.is_terminal else structlog.processors.JSONRenderer(ensure_ascii=True))
    return structlog.wrap_logger(_Paper(console), processors=processors, wrapper_class=structlog.BoundLogger)


def _speak(logger: object, level: str, event: dict[str, Any]) -> str:
    del logger, level
    said = ", ".join(str(value) for name, value in event.items() if name not in ("timestamp", "level", "event"))
    return f"{event['event']}: {said}"


class _Paper:
    """Where the lines go: beside the progress bar, not through it."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def info(self, line: str) -> None:
        self._console.print(Text(printable(line)))

    warning = info
