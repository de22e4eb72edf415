"""A duty: which worker looks after which source."""

from __future__ import annotations

from dataclasses import dataclass

from oneroof import lease
from oneroof.source import Source


@dataclass(frozen=True, slots=True)
class Duty:
    """One worker on one source, or on a range of it; or a part of its work that has a lane of its own."""

    worker: str
    source: Source
    scope: str
    part: str | None = None

    @property
    def is_range(self) -> bool:
        return self.scope != self.source.source_name

    @property
    def executor(self) -> str:
        name = lease.executor_name(self.worker, self.scope)
        return name if self.part is None else f"{name}/{self.part}"
