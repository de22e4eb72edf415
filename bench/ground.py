"""What the worker benchmarks stand on: an estate with oneroof on it, the bare insert L, and runs of the supervisor.

L is the sweep's own rows, all at once, with the same words for a verdict in each, into an empty table of the same shape
and indexes. Before every measured run the table it fills is emptied and a checkpoint made, so that full-page writes are
alike for both.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from psycopg import sql
from psycopg.conninfo import make_conninfo

from oneroof.config import load
from oneroof.database.connection import Connection, connect
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.embedded.server import EmbeddedServer
from oneroof.estate.build import build
from oneroof.estate.owners import owners_file
from oneroof.install import migrate
from oneroof.people import gates, owners, requests
from oneroof.runtime.admission import GATE
from oneroof.runtime.progress import Report
from oneroof.runtime.supervisor import Supervisor
from oneroof.sources import registration
from oneroof.sources.source import Source
from oneroof.tail import row_queries
from oneroof.workers import backfill_sweep

SOURCE = "birth_registry"
BARE = "public.bench_bare"
CANDIDATES = "oneroof.governance_candidate_state"
# A candidate row as the sweep writes it, without asking anybody for its verdict.
BARELY = f"""INSERT INTO {BARE}
  (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, class_mark, facts_hash, grain,
   verdict, undecided_reason, input_quality_state, dirty, dirty_reason, dirtied_at, scan_time, stale_after,
   source_snapshot_ref)
SELECT candidate_key, %(ruleset)s, group_key, %(scope)s, source_key, source_version, class_mark, facts_hash, grain,
       {{words}}, '1'
FROM ({{rows}}) AS batch CROSS JOIN (SELECT oneroof.gov_now() AS at) AS m"""
# Its words where it has a verdict, and where nobody has judged it.
JUDGED = "'covered', NULL, 'ready', false, NULL, NULL, m.at, m.at + interval '90 days'"
PENDING = "'undecided', 'pending', 'pending', true, 'object_born', m.at, NULL, NULL::timestamptz"
SMALL = 100_000
HUGE = 5_000_000


def silent(_: Report) -> None:
    """Reports that nobody reads."""


def say(text: str) -> None:
    """A line for whoever waits; the table comes at the end."""
    print(text, file=sys.stderr, flush=True)


@dataclass(slots=True)
class Ground:
    """One installed estate of so many births, its gate open."""

    dsn: str
    rows: int
    admin: Connection = field(init=False)
    source: Source = field(init=False)
    _left_out: list[str] = field(init=False)
    _is_complete: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.admin = self.dial()
        say(f"building an estate of {self.rows:,} births")
        build(self.admin, rows=self.rows)
        migrate.install(self.admin, settings=load())
        with self.dial("requester") as asking, self.dial("approver") as deciding:
            requests.decide(deciding, gates.request(asking, GATE, reason="benchmark"), "approved")
            owners.take(asking, owners_file(self.admin).encode(), form="csv")
        self.source = registration.find(self.admin, SOURCE)
        self.admin.execute(f"CREATE TABLE {BARE} (LIKE {CANDIDATES} INCLUDING ALL)")
        self.admin.execute("VACUUM ANALYZE public.birth_registry")
        self._left_out = self._duplicates()
        say(f"{len(self._left_out)} births share their key with an earlier one, and L leaves them out")

    def dial(self, user: str | None = None) -> Connection:
        """A connection of its own, as the superuser unless said."""
        dsn = self.dsn if user is None else make_conninfo(self.dsn, user=user)
        return connect(dsn, settings=load(), application="oneroof bench")

    def time_bare(self, *, beyond: int = 0, words: str = JUDGED) -> float:
        """Seconds of L, over the births with an id beyond the one given."""
        self.admin.execute(f"TRUNCATE {BARE}")
        self.admin.execute("CHECKPOINT")
        key = sql.Identifier("s", self.source.key_columns[0])
        where = sql.SQL("{0} <> ALL (%(left_out)s::integer[]) AND {0} > %(beyond)s").format(key)
        rows = row_queries.rows(self.source, where=where, limit=False)
        statement = sql.SQL(BARELY).format(rows=rows, words=sql.SQL(words))
        (version,) = one(self.admin, "SELECT oneroof.gov_ruleset_active()")
        given = {"scope": SOURCE, "ruleset": version, "left_out": self._left_out, "beyond": beyond}
        began = monotonic()
        with transaction(self.admin, doing="inserting bare rows", settings={"timezone": "UTC"}):
            self.admin.execute(statement, given)
        return monotonic() - began

    def forget(self) -> None:
        """As if no worker had ever run."""
        self._is_complete = False
        self.admin.execute(
            f"TRUNCATE {CANDIDATES}, oneroof.governance_open_row, oneroof.governance_open_span,"
            " oneroof.gov_worker_cursor, oneroof.governance_retry,"
            " oneroof.governance_fact_set, oneroof.governance_class, oneroof.governance_ledger,"
            " oneroof.governance_verdict_history, oneroof.governance_duplicate, oneroof.governance_class_finding,"
            " oneroof.governance_object, oneroof.governance_audit_facts, oneroof.governance_audit_bucket,"
            " oneroof.governance_audit_count, oneroof.governance_handoff, oneroof.governance_group_mark,"
            " oneroof.governance_register_row, oneroof.governance_event,"
            " oneroof.governance_untold"
        )
        self.admin.execute("DELETE FROM public.event_pending WHERE actor_ref = 'oneroof'")
        self.admin.execute("VACUUM public.event_pending")
        self.admin.execute("CHECKPOINT")

    def sweep(self, *, shards: int = 1) -> float:
        """Seconds of a run of the sweep until idle, its connections included."""
        seconds = self.run([backfill_sweep.NAME], shards=shards)
        for _ in range(3):
            if self._is_swept():
                return seconds
            say(f"a run with shards={shards} ended before the sweep was done; the next one counts with it")
            seconds += self.run([backfill_sweep.NAME], shards=shards)
        raise AssertionError("the sweep does not come to its end")

    def run(
        self, workers: list[str], *, shards: int = 1, named: bool = False, tell: Callable[[Report], None] = silent
    ) -> float:
        """Seconds of a run of some workers until idle; `named` runs an audit that is not due."""
        supervisor = Supervisor(
            dial=self.dial,
            workers=workers,
            instance="bench",
            mode="until idle",
            stop=threading.Event(),
            tell=tell,
            shards=shards,
            named=named,
        )
        began = monotonic()
        supervisor.run()
        return monotonic() - began

    def complete(self) -> None:
        """Everything swept, by one worker, and settled: no hint bit left to set."""
        if not self._is_complete:
            self.forget()
            self.sweep()
        self.settle()
        self.check()
        self._is_complete = True

    def settle(self) -> None:
        self.admin.execute(f"VACUUM {CANDIDATES}, public.birth_registry, oneroof.gov_worker_cursor")
        self.admin.execute("CHECKPOINT")

    def calm(self) -> None:
        """Whatever was written before is on the disk: a commit waits for nothing but itself."""
        os.sync()

    def check(self) -> None:
        """A benchmark of work that was not done would be worth nothing."""
        (births, candidates) = one(
            self.admin, f"SELECT (SELECT count(*) FROM public.birth_registry), (SELECT count(*) FROM {CANDIDATES})"
        )
        assert candidates == births - len(self._left_out), (births, candidates, len(self._left_out))

    def _is_swept(self) -> bool:
        (swept,) = one(
            self.admin,
            """SELECT count(*) > 0 FROM oneroof.gov_worker_cursor
               WHERE worker_name = %s AND source_name = %s AND frontier IS NOT NULL""",
            (backfill_sweep.NAME, SOURCE),
        )
        return bool(swept)

    def _duplicates(self) -> list[str]:
        rows = row_queries.rows(self.source, where=sql.SQL("true"), limit=False)
        statement = sql.SQL(
            """SELECT source_key FROM (
                 SELECT source_key, row_number() OVER (PARTITION BY candidate_key ORDER BY ts, source_key) AS place
                 FROM ({}) AS r) AS placed WHERE place > 1"""
        ).format(rows)
        return [str(key) for (key,) in self.admin.execute(statement)]


@dataclass(slots=True)
class Trial:
    """One run of the benchmarks: its server, its sizes, and the estates built so far."""

    server: EmbeddedServer
    rows: int
    rounds: int
    is_long: bool = False
    _grounds: dict[int, Ground] = field(default_factory=dict, init=False)

    def ground(self, rows: int | None = None) -> Ground:
        """The estate of that size, built the first time; the full one unless said."""
        size = rows or self.rows
        if size not in self._grounds:
            name = f"bench_{size}"
            self.server.ensure_database(name)
            self._grounds[size] = Ground(self.server.dsn(name), size)
        return self._grounds[size]

    def drop(self, rows: int) -> None:
        """Be done with an estate: vacuuming it would go on beside what is measured next, and in the same log."""
        ground = self._grounds.pop(rows)
        ground.admin.close()
        with connect(self.server.dsn("postgres"), settings=load(), application="oneroof bench") as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(f"bench_{rows}")))

    def small(self) -> Ground:
        """The estate that the full one is compared with."""
        return self.ground(min(SMALL, max(self.rows // 10, 1)))

    def each_round(self) -> Iterator[int]:
        return iter(range(1, self.rounds + 1))


@contextmanager
def serially(connection: Connection) -> Iterator[None]:
    """Without parallel workers, which no two machines have alike."""
    connection.execute("SET max_parallel_workers_per_gather = 0")
    yield
    connection.execute("RESET max_parallel_workers_per_gather")
