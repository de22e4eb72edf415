"""One line of the table: what was measured, and the goal it is held against."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with its goal: a ratio, unless it has a unit; at most the goal, unless it is a floor."""

    name: str
    value: float
    goal: float
    unit: str = ""
    is_floor: bool = False

    @property
    def is_met(self) -> bool:
        return self.value >= self.goal if self.is_floor else self.value <= self.goal

    @property
    def shown(self) -> str:
        return f"{_number(self.value)} {self.unit}".rstrip()

    @property
    def wanted(self) -> str:
        return f"{'≥' if self.is_floor else '≤'} {_number(self.goal)} {self.unit}".rstrip()


def _number(value: float) -> str:
    if value == int(value) and abs(value) >= 10:
        return f"{value:,.0f}"
    return f"{value:,.3f}" if abs(value) < 0.1 and value else f"{value:,.2f}"
