"""kill -9 before and after every statement and every COMMIT of every worker, and of its recovery (promises 4 and 13).

A child process does the work on a connection of its own and kills itself at the n-th word it has for the server, or
right after the answer to it. What it left is recovered by a second child, which is killed too, at a point drawn from a
seed; a third run comes to its end. Whatever the points: every row once, counters equal rows, nothing ever goes down,
and the lease can be had again when it has run out. A run that nothing happens to tells the points.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import psycopg
import pytest
from psycopg import sql

import inventory
import judging
from bed import Bed, connect
from inventory import INTAKE, POISON, SWEEP
from oneroof.backfill import ranges
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import Transaction
from oneroof.errors import HeldElsewhere
from oneroof.fence import fenced_batch, lease
from oneroof.sources.source import Source
from oneroof.workers import candidate_scan
from oneroof.workers.backfill_sweep import BackfillSweep

pytestmark = pytest.mark.slow

When = Literal["before", "after"]
BOTH: tuple[When, ...] = ("before", "after")
ROWS = """INSERT INTO src (id, at, code) VALUES (1, '2026-01-02', 'a'), (2, '2026-01-01', 'b'), (3, NULL, 'c'),
  (4, 'infinity', 'd'), (5, '2026-01-02', 'e')"""
LATER = """INSERT INTO src (id, at, code) VALUES (6, now(), 'f'), (7, '-infinity', 'g'), (8, NULL, 'h'),
  (9, '2025-01-01', 'i'), (10, now() + interval '1 second', 'j'), (11, '12000-01-01', 'k')"""


@dataclass(frozen=True)
class Scenario:
    """What a worker finds, what it does, and how many events it has then seen."""

    prepare: Callable[[Connection, Source], None]
    work: Callable[[Connection, Source], None]
    worker: str
    seen: int
    dead: int = 0
    indexed: bool = True


def rows(admin: Connection, _: Source) -> None:
    admin.execute(ROWS)


def poisoned(admin: Connection, tailed: Source) -> None:
    rows(admin, tailed)
    admin.execute("UPDATE src SET code = %s WHERE id = 5", (POISON,))


def swept(admin: Connection, tailed: Source) -> None:
    rows(admin, tailed)
    inventory.sweep(admin, tailed, batch=100)


def changed(admin: Connection, tailed: Source) -> None:
    swept(admin, tailed)
    admin.execute(LATER)
    admin.execute("UPDATE src SET status = 'grown' WHERE id = 1")


def taken_in(admin: Connection, tailed: Source) -> None:
    """Seven candidates are dirty, with facts that nobody has met, of a class that was never looked at."""
    swept(admin, tailed)
    admin.execute("TRUNCATE oneroof.governance_fact_set, oneroof.governance_class")
    admin.execute(LATER)
    admin.execute("UPDATE src SET status = 'grown' WHERE id = 1")
    inventory.intake(admin, tailed, batch=100)


def judge(connection: Connection, tailed: Source) -> None:
    judging.judge(connection, tailed, batch=2)


def changed_and_poisoned(admin: Connection, tailed: Source) -> None:
    swept(admin, tailed)
    admin.execute("INSERT INTO src (id, at, code) VALUES (6, now(), 'f'), (7, now(), %s), (8, NULL, 'h')", (POISON,))


def waiting(admin: Connection, tailed: Source) -> None:
    """Two items wait, of which one has been put right."""
    rows(admin, tailed)
    admin.execute("UPDATE src SET code = %s || id WHERE id > 3", (POISON,))
    admin.execute("UPDATE oneroof.governance_worker_policy SET backoff_first = '1 hour', backoff_most = '1 hour'")
    inventory.sweep(admin, tailed, batch=100)
    inventory.impatient(admin, attempts=3)
    admin.execute("UPDATE src SET code = 'good' WHERE id = 4")
    admin.execute("UPDATE oneroof.governance_retry SET next_attempt_at = now()")


def in_ranges(connection: Connection, tailed: Source) -> None:
    inventory.settle(connection)
    held = inventory.claim(connection, SWEEP)
    whole = BackfillSweep(connection, tailed, held, batch=2)
    whole.cut(2)
    for name in ranges.names(connection, worker=SWEEP, source="src"):
        inventory.sweep(connection, tailed, scope=name)
    inventory.until_idle(whole)
    lease.release(connection, held)


SCENARIOS = {
    "sweep by keyset": Scenario(rows, inventory.sweep, SWEEP, seen=5),
    "sweep by pages": Scenario(rows, inventory.sweep, SWEEP, seen=5, indexed=False),
    "sweep in ranges": Scenario(rows, in_ranges, SWEEP, seen=5),
    "sweep with poison": Scenario(poisoned, inventory.sweep, SWEEP, seen=5, dead=1),
    "intake in both lanes": Scenario(changed, inventory.intake, INTAKE, seen=7),
    "intake by the frontier alone": Scenario(changed, inventory.intake, INTAKE, seen=7, indexed=False),
    "intake with poison": Scenario(changed_and_poisoned, inventory.intake, INTAKE, seen=3, dead=1),
    "gate and scan": Scenario(taken_in, judge, candidate_scan.NAME, seen=7),
    "retries": Scenario(waiting, inventory.sweep, SWEEP, seen=5, dead=1),
}


def arm(point: int | None, when: When, out: int) -> None:
    """From now on this process dies at its n-th word to the server, and says what it was; without a point, all."""
    words = itertools.count()
    statement = "?"
    wait, execute = psycopg.Connection.wait, psycopg.Cursor.execute

    def die(what: str) -> None:
        os.write(out, f"{when} {what}".encode())
        os.kill(os.getpid(), signal.SIGKILL)

    def execute_named(self: Any, query: Any, *args: Any, **more: Any) -> Any:
        nonlocal statement
        text = query.as_string(self) if isinstance(query, sql.Composable) else query
        text = text.decode() if isinstance(text, bytes) else str(text)
        statement = " ".join(line for line in text.split("\n") if not line.startswith("--"))
        statement = statement[:80] + (" COMMIT" if len(statement) > 80 and statement.endswith("COMMIT") else "")
        return execute(self, query, *args, **more)

    def wait_or_die(self: Any, gen: Any, *args: Any, **more: Any) -> Any:
        what = statement
        if point is None:
            os.write(out, f"{what}\n".encode())
        here = next(words) == point
        if here and when == "before":
            die(what)
        answer = wait(self, gen, *args, **more)
        if here and when == "after":
            die(what)
        return answer

    psycopg.Cursor.execute = execute_named  # type: ignore[method-assign]
    psycopg.Connection.wait = wait_or_die  # type: ignore[method-assign]


def words_of(dsn: str, work: Callable[[Connection], None]) -> list[str]:
    """Let a child work to its end; all that it says to the server."""
    code, said = in_child(dsn, work, None, "before")
    assert code == 0, said
    return said.splitlines()


def killed_at(dsn: str, work: Callable[[Connection], None], point: int, when: When) -> str | None:
    """Let a child work until it kills itself; where that was, or None if it came to its end."""
    code, said = in_child(dsn, work, point, when)
    assert code in (0, -signal.SIGKILL), said
    return said if code else None


def in_child(dsn: str, work: Callable[[Connection], None], point: int | None, when: When) -> tuple[int, str]:
    """The exit code and the words of a child that does the work."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of the runner, which the child has no use for
        pid = os.fork()
    if pid == 0:
        try:
            arm(point, when, writing)
            work(connect(dsn))
            os._exit(0)
        except BaseException:
            os.write(writing, traceback.format_exc().encode()[-60_000:])
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), said


@dataclass
class Stand:
    """A database with the source, a scenario, and what was seen of the cursors so far."""

    dsn: str
    admin: Connection
    tailed: Source
    scenario: Scenario
    chance: random.Random

    def reset(self) -> None:
        inventory.clear(self.admin)
        inventory.impatient(self.admin, attempts=2)
        self.scenario.prepare(self.admin, self.tailed)

    def try_point(self, point: int, when: When) -> None:
        """Kill, recover with a kill, finish, check. A run that was shorter this time is checked all the same."""
        self.reset()
        marks = [self.marks()]
        place = killed_at(self.dsn, self.work, point, when)
        marks.append(self.marks())
        self.leases_run_out(place or "nowhere")
        second, then = self.chance.randrange(60), self.chance.choice(BOTH)
        again = killed_at(self.dsn, self.work, second, then)
        marks.append(self.marks())
        where = f"point {point}, {place or 'nowhere'}; in the recovery {again or 'nowhere'}"
        if again is not None:
            self.leases_run_out(where)
            self.work(self.admin)
        marks.append(self.marks())
        self.check(where, marks)

    def work(self, connection: Connection) -> None:
        self.scenario.work(connection, self.tailed)

    def marks(self) -> dict[str, tuple[Any, ...]]:
        """What may only rise, by cursor; NULL is below everything."""
        found = self.admin.execute(
            "SELECT worker_name || ':' || source_name, coalesce(last_watermark_ts, '-infinity')::text,"
            " coalesce(frontier::text::bigint, 0), events_seen, attempts_written, dead_lettered FROM"
            " oneroof.gov_worker_cursor"
        )
        return {name: tuple(rest) for name, *rest in found}

    def leases_run_out(self, where: str) -> None:
        """What a dead process holds nobody else gets; after the TTL anybody does."""
        held = self.admin.execute(
            "SELECT executor_name FROM queue_heartbeat WHERE lease_owner LIKE 'test/%'"
        ).fetchall()
        for (executor,) in held:
            with pytest.raises(HeldElsewhere, match="is held by test/"):
                lease.claim(self.admin, executor, instance="early")
        inventory.run_out(self.admin)
        # What the dead process's connection has locked nobody can claim before the server has noticed.
        inventory.settle(self.admin)
        for (executor,) in held:
            assert lease.release(self.admin, lease.claim(self.admin, executor, instance="heir")), where

    def check(self, where: str, marks: list[dict[str, tuple[Any, ...]]]) -> None:
        scenario, admin = self.scenario, self.admin
        for earlier, later in itertools.pairwise(marks):
            for name, values in earlier.items():
                assert all(new >= old for new, old in zip(later[name], values, strict=True)), (where, name, marks)
        assert inventory.wrong(admin) == [], where
        assert inventory.seen(admin, scenario.worker) == scenario.seen, where
        assert inventory.stale_open_rows(admin) == 0, where
        assert admin.execute(judging.MISCOUNTED).fetchall() == [], where
        (open_windows,) = one(admin, "SELECT count(*) FROM oneroof.gov_worker_cursor WHERE window_horizon IS NOT NULL")
        assert open_windows == 0, where
        (held,) = one(admin, "SELECT count(*) FROM queue_heartbeat WHERE lease_owner LIKE 'test/%'")
        assert held == 0, where
        self.check_items(where)

    def check_items(self, where: str) -> None:
        """done + waiting + dead = seen: each failed item once, with one letter, and one finding for all of them."""
        items = self.admin.execute(
            "SELECT r.state, r.attempts = p.attempts, r.died_at IS NOT NULL, e.count, e.hint FROM"
            " oneroof.governance_retry AS r"
            " JOIN oneroof.governance_worker_policy AS p USING (worker_name)"
            " CROSS JOIN LATERAL (SELECT count(*), min(event_type_hint) AS hint FROM event_pending"
            "   WHERE actor_ref = 'oneroof' AND capture_payload ->> 'item_id' = r.item_id::text) AS e"
            " WHERE r.state <> 'done'"
        ).fetchall()
        assert items == [("dead", True, True, 1, "cursor_dlq")] * self.scenario.dead, where
        (rows, candidates) = one(
            self.admin,
            "SELECT (SELECT count(*) FROM src), (SELECT count(DISTINCT source_key) FROM"
            " oneroof.governance_candidate_state AS c"
            " WHERE NOT EXISTS (SELECT FROM oneroof.governance_retry AS r"
            "                   WHERE r.source_key = c.source_key AND r.state IN ('waiting', 'dead')))",
        )
        assert candidates + len(items) == rows, where
        (dead,) = one(self.admin, "SELECT coalesce(sum(dead_lettered), 0)::int FROM oneroof.gov_worker_cursor")
        assert dead == self.scenario.dead, where
        (findings,) = one(
            self.admin, "SELECT count(*) FROM oneroof.governance_finding WHERE issue_type = 'cursor_dlq' AND is_open"
        )
        assert findings == min(1, self.scenario.dead), where


@pytest.fixture
def stand(bed: Bed, request: pytest.FixtureRequest) -> Iterator[Stand]:
    scenario = SCENARIOS[request.param]
    with bed.database(bed.installed()) as name, connect(bed.dsn(name)) as admin:
        admin.execute("DELETE FROM oneroof.governance_source")
        tailed = inventory.make(admin, indexed=scenario.indexed)
        yield Stand(bed.dsn(name), admin, tailed, scenario, random.Random(request.param))


def points(stand: Stand) -> list[str]:
    """All words of a run that nothing happens to, each of which is a point."""
    stand.reset()
    words = words_of(stand.dsn, stand.work)
    stand.check("no kill", [])
    assert len(words) > 30
    return words


def try_some(stand: Stand, *, many: int) -> None:
    """So many points, half of them commits; always the same ones."""
    words = points(stand)
    commits = [point for point, word in enumerate(words) if word.endswith("COMMIT")]
    assert len(commits) >= 6
    others = [point for point, word in enumerate(words) if not word.endswith("COMMIT")]
    for of in (commits, others):
        for point in stand.chance.sample(of, min(many // 2, len(of))):
            stand.try_point(point, stand.chance.choice(BOTH))


def try_all(stand: Stand, of: Iterable[int], *whens: When) -> None:
    for point in of:
        for when in whens:
            stand.try_point(point, when)


@pytest.mark.parametrize("stand", SCENARIOS, indirect=True)
def test_a_kill_loses_nothing_and_doubles_nothing(stand: Stand) -> None:
    """A few points of every scenario."""
    try_some(stand, many=12)


@pytest.mark.parametrize("stand", ["sweep by keyset"], indirect=True)
def test_a_kill_at_every_point_of_a_sweep(stand: Stand) -> None:
    """Each of them, in turn before it and after it."""
    many = len(points(stand))
    try_all(stand, range(0, many, 2), "before")
    try_all(stand, range(1, many, 2), "after")


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("stand", SCENARIOS, indirect=True)
def test_a_kill_at_every_point_of_everything(stand: Stand) -> None:
    """All of them, both before and after."""
    try_all(stand, range(len(points(stand))), *BOTH)


@pytest.mark.parametrize("stand", ["intake in both lanes"], indirect=True)
def test_mutant_that_commits_each_statement_is_found_out(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the one transaction a kill between the effects and the cursor leaves versions that nobody has counted."""

    @contextmanager
    def loose(connection: Connection, *, first: bytes, **_: object) -> Iterator[Transaction]:
        begun = Transaction(connection, connection.execute(first))
        yield begun
        begun.flush()

    monkeypatch.setattr(fenced_batch, "transaction", loose)
    effects = [point for point, word in enumerate(points(stand)) if word.startswith("WITH batch AS MATERIALIZED")]
    # A run that prepares a statement more or less than the first one is killed a word before or after.
    with pytest.raises(AssertionError, match=r"point \d+, after [\s\S]*assert \d == 7"):
        try_all(stand, effects, "after")
