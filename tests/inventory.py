"""A small inventory to tail in tests: its table, its workers, and what must be true of it once all is applied.

A row's status is in its group key, so that a candidate shows which version of its row it was made from. A code that no
index can hold makes a row that cannot be applied: poison.
"""

from __future__ import annotations

import base64
import random
import time

from psycopg import sql

from bed import eventually
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.fence import lease
from oneroof.fence.lease import Lease
from oneroof.runtime.assignment import Worker
from oneroof.sources import registration, source
from oneroof.sources.source import Source
from oneroof.workers import backfill_sweep, handoff_intake, handoff_signals
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.handoff_intake import HandoffIntake
from oneroof.workers.handoff_signals import HandoffTell

SWEEP, INTAKE = backfill_sweep.NAME, handoff_intake.NAME
TABLE = "CREATE TABLE src (id int PRIMARY KEY, at timestamptz, code text NOT NULL, status text NOT NULL DEFAULT 'born')"
INDEX = "CREATE INDEX src_at_id ON src (at, id)"
INDEX_IF_MISSING = "CREATE INDEX IF NOT EXISTS src_at_id ON src (at, id)"
# More than a page of text that does not compress.
POISON = base64.b64encode(random.Random(39).randbytes(12_000)).decode()

# What is wrong, row by row: a committed row that nobody accounts for, or two candidates do, or one of an older version;
# a candidate of a row that is not there. A row that failed is accounted by its item.
WRONG = """
WITH failed AS (SELECT DISTINCT source_key FROM oneroof.governance_retry
                WHERE split_part(source_name, '#', 1) = 'src' AND state IN ('waiting', 'dead')),
     accounted AS (SELECT source_key, count(*) AS times, array_agg(group_key) AS groups FROM
     oneroof.governance_candidate_state
                   WHERE source_name = 'src' GROUP BY 1)
SELECT format('row %%s has %%s candidates, in %%s, and is %%s', s.id, coalesce(a.times, 0), left(a.groups::text, 50),
              left(s.status, 20))
FROM src AS s LEFT JOIN accounted AS a ON a.source_key = s.id::text LEFT JOIN failed AS f ON f.source_key = s.id::text
WHERE CASE WHEN f.source_key IS NULL
           THEN coalesce(a.times, 0) <> 1 OR a.groups <> ARRAY['src/' || s.status]
           ELSE length(s.code) < 8192 AND NOT %(fixed)s END
UNION ALL
SELECT format('a candidate of row %%s, which is not there', a.source_key)
FROM accounted AS a WHERE NOT EXISTS (SELECT FROM src AS s WHERE s.id::text = a.source_key) AND NOT %(gone)s
"""


def make(
    admin: Connection,
    *,
    indexed: bool = True,
    kind: str = source.INVENTORY,
    is_trusted: bool = True,
    births: bool | None = None,
) -> Source:
    """The table, empty, as a source that is trusted and, if its rows are objects, of births, unless said."""
    admin.execute(TABLE)
    if indexed:
        admin.execute(INDEX)
    added = registration.add(
        admin,
        "src",
        key=["id"],
        timestamp="at",
        ref="code",
        group_by=["status"],
        kind=kind,
        births=kind == source.INVENTORY if births is None else births,
    )
    if is_trusted:
        admin.execute("UPDATE oneroof.governance_source SET trusted_at = now() WHERE source_name = 'src'")
    return added


def clear(admin: Connection) -> None:
    """As it was when it was made."""
    admin.execute("TRUNCATE src")
    for table in (
        "gov_worker_cursor",
        "governance_open_row",
        "governance_open_span",
        "governance_candidate_state",
        "governance_fact_set",
        "governance_class",
        "governance_object",
        "governance_ledger",
        "governance_duplicate",
        "governance_class_finding",
        "governance_verdict_history",
        "governance_retry",
        "governance_lease",
        "governance_finding",
    ):
        admin.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier("oneroof", table)))
    admin.execute("DELETE FROM system_issues")
    admin.execute("DELETE FROM queue_heartbeat WHERE executor_name LIKE 'gov_%'")
    admin.execute("DELETE FROM event_pending WHERE actor_ref = 'oneroof'")


def impatient(admin: Connection, *, attempts: int) -> None:
    """So many attempts, one right after the other."""
    admin.execute(
        "UPDATE oneroof.governance_worker_policy SET attempts = %s, backoff_first = '1 microsecond',"
        " backoff_most = '1 microsecond'",
        (attempts,),
    )


def claim(connection: Connection, worker: str, scope: str = "src") -> Lease:
    return lease.claim(connection, lease.executor_name(worker, scope), instance="test")


def run_out(admin: Connection) -> None:
    """Let an hour go by for every lease, by the server's clock."""
    admin.execute("UPDATE queue_heartbeat SET last_tick_at = last_tick_at - interval '1 hour'")


def until_idle(worker: Worker) -> None:
    deadline = time.monotonic() + 60
    while not worker.run_once().idle:
        assert time.monotonic() < deadline, "a minute of steps and no end"


def settle(connection: Connection) -> None:
    """Wait until nothing, in whatever database of the server, holds the horizon back behind this moment."""
    (now,) = one(connection, "SELECT pg_current_xact_id()::text::bigint")
    horizon = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
    eventually(lambda: one(connection, horizon)[0] > now, what="the horizon to pass", seconds=120)


def sweep(connection: Connection, tailed: Source, *, batch: int = 2, scope: str = "src") -> None:
    """A sweep to its end, as an instance of its own."""
    settle(connection)
    held = claim(connection, SWEEP, scope)
    until_idle(BackfillSweep(connection, tailed, held, batch=batch, scope=scope))
    lease.release(connection, held)


def intake(connection: Connection, tailed: Source, *, batch: int = 2) -> None:
    """The tail until it has closed a window, as an instance of its own."""
    settle(connection)
    inherit(connection, tailed, batch=batch)


def inherit(connection: Connection, tailed: Source, *, batch: int = 2) -> None:
    """The same, whoever holds the horizon back."""
    held = claim(connection, INTAKE)
    until_idle(HandoffIntake(connection, tailed, held, batch=batch, at_once=True))
    lease.release(connection, held)
    emit_signals(connection, tailed)


def emit_signals(connection: Connection, tailed: Source) -> None:
    """What the signals thread does, until nothing is untold."""
    held = lease.claim(connection, f"{INTAKE}:{tailed.source_name}/{handoff_signals.PART}", instance="test")
    until_idle(HandoffTell(connection, tailed, held))
    lease.release(connection, held)


def wrong(admin: Connection, *, fixed: bool = False, gone: bool = False) -> list[str]:
    """What is not accounted as it should be; `fixed` rows may still have an item, rows that are `gone` a candidate."""
    return [text for (text,) in admin.execute(WRONG, {"fixed": fixed, "gone": gone})]


def seen(admin: Connection, worker: str) -> int:
    """The events that a worker has counted, over all ranges."""
    (count,) = one(
        admin,
        "SELECT coalesce(sum(events_seen), 0)::int FROM oneroof.gov_worker_cursor WHERE worker_name = %s",
        (worker,),
    )
    return int(count)


def stale_open_rows(admin: Connection) -> int:
    """Rows that are remembered although the frontier has passed them."""
    (count,) = one(
        admin,
        "SELECT count(*) FROM (SELECT cursor_id, row_xid FROM oneroof.governance_open_row"
        " UNION ALL SELECT cursor_id, row_xid FROM oneroof.governance_open_span) AS o"
        " JOIN oneroof.gov_worker_cursor AS c USING (cursor_id)"
        " WHERE o.row_xid < c.frontier::text::bigint",
    )
    return int(count)
