"""How many rows of each kind an estate has (doc 39 §39.2, doc 41 §41.2, doc 31 §1 and §3).

The live counts at `LIVE_BIRTHS` births; any other number of births scales the rest in proportion, rounded, by
integer arithmetic. The small registries keep their counts.
"""

from __future__ import annotations

from dataclasses import dataclass

LIVE_BIRTHS = 1_037_724
LARGEST = 2_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Volumes:
    """The six volumes that scale, and the share of the issues that are onboarding gaps."""

    births: int
    certified: int
    changes: int
    events: int
    reads: int
    issues: int
    gaps: int

    @property
    def total(self) -> int:
        """Rows to be written in chunks."""
        return self.births + self.changes + self.events + self.reads + self.issues


def volumes_of(rows: int) -> Volumes:
    """The volumes of an estate with `rows` births."""
    return Volumes(
        births=rows,
        certified=_scaled(1_402, rows),
        changes=_scaled(68_323, rows),
        events=_scaled(181_712, rows),
        reads=_scaled(181_351, rows),
        issues=_scaled(190_288, rows),
        gaps=_scaled(345, rows),
    )


def _scaled(live: int, rows: int) -> int:
    return (2 * live * rows + LIVE_BIRTHS) // (2 * LIVE_BIRTHS)
