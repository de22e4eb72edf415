"""The watch: looks at every cursor and raises or clears what follows (doc 39 §39.6, promise 9).

A worker that holds a lease and no longer ticks is a `cursor_silent_gap`, one whose frontier is too old a `cursor_lag`;
both close by themselves when it is no longer so, as do conflicts that ended and dead letters that were dealt with. Any
running supervisor does this every few seconds, `oneroof watch --once` for a scheduler; any number at once do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass

from oneroof import findings
from oneroof.db import Connection, queries, transaction

INTERVAL = 5.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look changed, by coalesce_key, and how many findings of ours are open after it."""

    raised: list[str]
    cleared: list[str]
    open: int


def watch(connection: Connection) -> Seen:
    """One look, in one short transaction; writes only what has changed."""
    with transaction(connection, doing="watching", role="oneroof_worker", statement_timeout=5, lock_timeout=2):
        rows = connection.execute(queries("watch")["reconcile"]).fetchall()
        open_now = findings.count_open(connection)
    changed = [(str(key), bool(is_wanted)) for key, is_wanted, is_changed in rows if is_changed]
    return Seen(
        raised=[key for key, is_wanted in changed if is_wanted],
        cleared=[key for key, is_wanted in changed if not is_wanted],
        open=open_now,
    )
