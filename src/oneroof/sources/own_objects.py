"""oneroof's own objects: its rules, gates, workers and sources are governed like the host's, with owners, each kind in
a scope of its own (docs/how-to/govern-oneroof-itself.md). Only where it is asked for, so that nothing is counted that
the host does not have. Tables that people change and no worker writes: what moves with every tick would never be still.
"""

from __future__ import annotations

from dataclasses import dataclass

from oneroof.database.connection import Connection
from oneroof.sources import registration
from oneroof.sources.source import Source


@dataclass(frozen=True, slots=True)
class Objects:
    """A table of ours whose rows are objects: its key, and what rules may look at."""

    table: str
    key: str
    facts: tuple[str, ...] = ()


OBJECTS = (
    Objects("governance_rule", "rule_code", ("rule_kind", "verdict", "enabled")),
    Objects("governance_gate", "gate_key"),
    Objects("governance_worker_policy", "worker_name"),
    Objects("governance_source", "source_name", ("source_kind", "births")),
)


def register(connection: Connection) -> list[Source]:
    """Tail all of them; they are born where they are written, and only our functions write them."""
    return [
        registration.add(connection, f"oneroof.{each.table}", key=[each.key], facts=each.facts, births=True)
        for each in OBJECTS
    ]
