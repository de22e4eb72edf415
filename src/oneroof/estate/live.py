"""Keep the estate changing at a rate: the load of the demo and the benchmarks (doc 32 §3: the kinds of change).

Each tick is one transaction with at most one statement per kind, and none is open between ticks. What a tick owes
is `rate` times the time passed, less what was issued, so that a late tick catches up. A database that `build`
did not make is refused: this never writes to a host.
"""

from __future__ import annotations

import math
import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic

from oneroof.database.connection import Connection
from oneroof.database.transaction import transaction
from oneroof.errors import Refused, Usage
from oneroof.estate.build import DEFAULT_SEED
from oneroof.estate.mark import built
from oneroof.estate.statement import statement

TICK = 1 / 15
MOST_PER_TICK = 5_000

# Of twenty changes in a row: twelve births, four changelog rows, two certifications, a retirement, a deletion.
_KINDS = {"b": "births", "c": "changes", "y": "certifications", "r": "retirements", "d": "deletions"}
_CYCLE = "bcbbybcbbrbbcbbybcbd"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCounts:
    """What was written so far. `issued` counts also the changes that found no row left to change."""

    issued: int = 0
    births: int = 0
    changes: int = 0
    certifications: int = 0
    retirements: int = 0
    deletions: int = 0
    ticks: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """Where births can go: collections that have some, each with its species."""

    collections: list[str]
    species: list[str | None]


def live(
    connection: Connection,
    *,
    rate: float,
    seed: int = DEFAULT_SEED,
    seconds: float | None = None,
    stop: threading.Event | None = None,
    on_tick: Callable[[LiveCounts], None] = lambda _counts: None,
) -> LiveCounts:
    """Produce `rate` changes per second until `stop` is set or `seconds` are over; on_tick is told of every tick."""
    if not (math.isfinite(rate) and rate > 0):
        raise Usage(f"--rate is {rate}; it must be a positive number of changes per second")
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise Usage(f"--seconds is {seconds}; it must be a positive number")
    stop = stop or threading.Event()
    chance = random.Random(seed)  # noqa: S311 a load is simulated, nothing is secret
    ground = _find_ground(connection)
    counts = LiveCounts()
    started = monotonic()
    while not stop.is_set():
        elapsed = monotonic() - started
        over = seconds is not None and elapsed >= seconds
        owed = int(rate * elapsed) if seconds is None or not over else round(rate * seconds)
        number = min(owed - counts.issued, MOST_PER_TICK)
        if number > 0:
            counts = _tick(connection, counts=counts, number=number, chance=chance, ground=ground)
            counts = replace(counts, seconds=monotonic() - started)
            on_tick(counts)
        if over:
            break
        if number < MOST_PER_TICK:
            left = math.inf if seconds is None else started + seconds - monotonic()
            stop.wait(max(0.0, min(TICK, left)))
    return replace(counts, seconds=monotonic() - started)


def _find_ground(connection: Connection) -> _Ground:
    with transaction(connection, doing="looking for the estate", search_path="public, pg_temp"):
        if built(connection) is None:
            raise Refused(
                "this database is not an estate: simulated changes are never written to a host",
                hint="oneroof estate build",
            )
        found = connection.execute(statement("live_collections")).fetchall()
        if not found:
            raise Refused("the estate has no births left to follow", hint="build a new one: oneroof estate build")
    return _Ground(collections=[name for name, _ in found], species=[species for _, species in found])


def _tick(
    connection: Connection, *, counts: LiveCounts, number: int, chance: random.Random, ground: _Ground
) -> LiveCounts:
    """The next `number` changes in one transaction, one statement per kind."""
    owed = Counter(_CYCLE[change % len(_CYCLE)] for change in range(counts.issued, counts.issued + number))
    done: dict[str, int] = {}
    with transaction(connection, doing="changing the estate", search_path="public, pg_temp"):
        for letter, kind in _KINDS.items():
            if owed[letter]:
                points = [chance.random() for _ in range(owed[letter])]
                parameters: dict[str, object] = {"points": points}
                if kind == "births":
                    parameters |= {"collections": ground.collections, "species": ground.species}
                cursor = connection.execute(statement(f"live_{kind}"), parameters)
                done[kind] = getattr(counts, kind) + cursor.rowcount
    return replace(counts, issued=counts.issued + number, ticks=counts.ticks + 1, **done)
