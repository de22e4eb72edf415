"""The watch: looks at every cursor and raises or clears what follows (doc 39 §39.6, promise 9).

A worker that holds a lease and no longer ticks is a `cursor_silent_gap`, one whose frontier is too old a `cursor_lag`;
candidates that wait too long for their verdict are a `scan_lag`, and verdicts not renewed a `stale_verdict`. All
of them close by themselves when it is no longer so, as do conflicts that ended, storms that are over and dead letters
that were dealt with. Of the intake the same is said in the words of the handoff (doc 32 §8), with a signal when it
begins. What was held and may be emitted now is emitted, and the intake's heartbeat with it; objects of a source that
was removed are retired, if whoever removed it did not come to an end. Any running supervisor does
this every few seconds, `oneroof watch --once` for a scheduler; any number at once do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass

from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.failures.batch_size import Width
from oneroof.findings import store
from oneroof.signals import emission
from oneroof.signals.emission import Event
from oneroof.sources import removal

INTERVAL = 5.0
# How many batches of held events to emit, and of objects to retire, in one look.
BATCHES = 4


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look changed, by coalesce_key, and how many findings of ours are open after it."""

    raised: list[str]
    cleared: list[str]
    open: int
    promoted: int = 0
    retired: int = 0


def watch(connection: Connection) -> Seen:
    """One look, in short transactions; writes only what has changed, and promotes some of what is held."""
    with transaction(connection, doing="watching", role="oneroof_worker", statement_timeout=5, lock_timeout=2):
        rows = connection.execute(queries("runtime/watch")["reconcile"]).fetchall()
        changed = [(str(key), bool(is_wanted)) for key, is_wanted, is_changed, *_ in rows if is_changed]
        begun = [row[3:] for row in rows if row[2] and row[3] is not None]
        emission.emit(connection, [_fault(*each) for each in begun])
        one(connection, queries("runtime/watch")["heartbeat"])
        open_now = store.count_open(connection)
    return Seen(
        raised=[key for key, is_wanted in changed if is_wanted],
        cleared=[key for key, is_wanted in changed if not is_wanted],
        open=open_now,
        promoted=promote(connection),
        retired=retire(connection),
    )


def retire(connection: Connection) -> int:
    """Retire some objects of sources that were removed; how many."""
    retired = 0
    for _ in range(BATCHES):
        buried = removal.go_on(connection)
        if buried is None:
            break
        retired += buried
    return retired


def promote(connection: Connection) -> int:
    """Emit some of what is held and may be emitted now; how many."""
    promoted, width = 0, Width(most=emission.BATCH)
    for _ in range(BATCHES):
        moved = emission.promote(connection, width=width) if emission.promotable(connection) else 0
        promoted += moved
        if not moved:
            break
    return promoted


def _fault(event_type: str, subject: str, times: int) -> Event:
    """That a fault began, of a worker and a source: which time that is."""
    worker, _, scope = subject.partition(":")
    return Event(
        event_type=event_type,
        source=worker,
        source_key=subject,
        change_number=times,
        subject_table="gov_worker_cursor",
        subject_ref=subject,
        payload={"worker": worker, "source": scope},
    )
