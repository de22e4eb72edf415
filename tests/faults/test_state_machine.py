"""The tail against a model: whatever the host does and when, every committed row is accounted (promises 1 to 5).

Two sessions of the host write to an inventory, sweep and intake take steps in between, are killed and taken over, the
table is rewritten, rows are poison and are put right. The model is a few dictionaries. At the end of every run all is
drained, and model and database must agree; then everything is read again, which must change nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as some
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from psycopg import sql

import inventory
from bed import Bed, connect
from inventory import INTAKE, POISON, SWEEP
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.fence import cursor
from oneroof.runtime.assignment import Worker
from oneroof.sources import registration
from oneroof.sources.source import Source
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.handoff_intake import HandoffIntake

pytestmark = pytest.mark.slow

MOMENTS = some.sampled_from(
    [
        "now()",
        "NULL",
        "'infinity'",
        "'-infinity'",
        "'2020-02-02'",
        "'12000-01-01'",
        "now() + interval '1 hour'",
        "now() - interval '1 minute'",
    ]
)
WHO = some.sampled_from([0, 1])
PLACE = some.integers(min_value=0, max_value=10**6)
BATCH = 2


@dataclass(frozen=True)
class Version:
    """What a committed version of a row says."""

    status: str
    is_poison: bool = False


@dataclass
class Session:
    """One of the host's, and what its open transaction would leave: None is a row deleted."""

    connection: Connection
    is_open: bool = False
    changes: dict[int, Version | None] = field(default_factory=dict)


@dataclass
class Ground:
    """The database that all runs of a test share."""

    dsn: str
    admin: Connection
    tailed: dict[bool, Source]


class TailMachine(RuleBasedStateMachine):
    """The host and the workers, one step at a time."""

    def __init__(self, ground: Ground) -> None:
        super().__init__()
        self.ground, self.admin = ground, ground.admin
        self.opened = ExitStack()
        self.sessions = [Session(self.opened.enter_context(connect(ground.dsn))) for _ in range(2)]
        self.prepared: dict[str, dict[int, Version | None]] = {}
        self.rows: dict[int, Version] = {}
        self.ever: dict[int, set[str]] = {}
        self.committed = 0
        self.keys = iter(range(1, 10**6))
        self.names = iter(range(10**6))
        self.workers: dict[str, Worker] = {}
        self.marks: dict[tuple[str, str], tuple[str, int, int]] = {}

    @initialize(indexed=some.booleans(), births=some.integers(min_value=0, max_value=5))
    def begin(self, indexed: bool, births: int) -> None:
        """An empty table or one with a few rows, with an index to go by or without."""
        inventory.clear(self.admin)
        self.admin.execute(inventory.INDEX_IF_MISSING if indexed else "DROP INDEX IF EXISTS src_at_id")
        self.tailed = self.ground.tailed[indexed]
        for _ in range(births):
            key, status = next(self.keys), self.new_status()
            self.admin.execute("INSERT INTO src VALUES (%s, now(), %s, %s)", (key, f"c{key}", status))
            self.commit_changes({key: Version(status)})

    # The host.

    @rule(who=WHO)
    def begin_transaction(self, who: int) -> None:
        session = self.sessions[who]
        if not session.is_open:
            session.connection.execute("BEGIN")
            session.is_open = True

    @rule(who=WHO)
    def commit(self, who: int) -> None:
        session = self.sessions[who]
        if session.is_open:
            session.connection.execute("COMMIT")
            session.is_open = False
            self.commit_changes(session.changes)
            session.changes = {}

    @rule(who=WHO)
    def roll_back(self, who: int) -> None:
        session = self.sessions[who]
        if session.is_open:
            session.connection.execute("ROLLBACK")
            session.is_open, session.changes = False, {}

    @rule(who=WHO)
    def prepare(self, who: int) -> None:
        session = self.sessions[who]
        if session.is_open and session.changes:
            gid = f"{os.getpid()}-{id(self)}-{next(self.names)}"
            session.connection.execute(sql.SQL("PREPARE TRANSACTION {}").format(sql.Literal(gid)))
            self.prepared[gid], session.changes, session.is_open = session.changes, {}, False

    @precondition(lambda self: self.prepared)
    @rule(place=PLACE, commits=some.booleans())
    def end_prepared(self, place: int, commits: bool) -> None:
        gid = sorted(self.prepared)[place % len(self.prepared)]
        how = sql.SQL("COMMIT PREPARED {}" if commits else "ROLLBACK PREPARED {}")
        self.admin.execute(how.format(sql.Literal(gid)))
        changes = self.prepared.pop(gid)
        if commits:
            self.commit_changes(changes)

    @rule(who=WHO, at=MOMENTS, is_poison=some.sampled_from([False, False, False, True]))
    def insert(self, who: int, at: str, is_poison: bool) -> None:
        key, status = next(self.keys), self.new_status()
        code = f"{POISON}{key}" if is_poison else f"c{key}"
        statement = f"INSERT INTO src (id, at, code, status) VALUES (%s, {at}, %s, %s)"
        self.sessions[who].connection.execute(sql.SQL(statement), (key, code, status))
        self.change(who, key, Version(status, is_poison))

    @rule(who=WHO, at=MOMENTS)
    def insert_in_a_savepoint(self, who: int, at: str) -> None:
        """Once in vain and once for good, under the xids of sub-transactions."""
        key, status = next(self.keys), self.new_status()
        statement = sql.SQL(f"INSERT INTO src (id, at, code, status) VALUES (%s, {at}, %s, %s)")
        with self.sessions[who].connection.transaction():
            with self.sessions[who].connection.transaction(force_rollback=True):
                self.sessions[who].connection.execute(statement, (key, f"c{key}", "never"))
            self.sessions[who].connection.execute(statement, (key, f"c{key}", status))
        self.change(who, key, Version(status))

    @rule(who=WHO, place=PLACE, at=MOMENTS)
    def update(self, who: int, place: int, at: str) -> None:
        """A new version, with another timestamp; what was poison stays so."""
        if (key := self.free_key(who, place)) is not None:
            status = self.new_status()
            statement = sql.SQL(f"UPDATE src SET status = %s, at = {at} WHERE id = %s")
            self.sessions[who].connection.execute(statement, (status, key))
            self.change(who, key, Version(status, self.seen_by(who)[key].is_poison))

    @rule(who=WHO, place=PLACE)
    def poison(self, who: int, place: int) -> None:
        self.rename(who, place, is_poison=True)

    @rule(who=WHO, place=PLACE)
    def put_right(self, who: int, place: int) -> None:
        self.rename(who, place, is_poison=False)

    @rule(who=WHO, place=PLACE)
    def delete(self, who: int, place: int) -> None:
        if (key := self.free_key(who, place)) is not None:
            self.sessions[who].connection.execute("DELETE FROM src WHERE id = %s", (key,))
            self.change(who, key, None)

    @precondition(lambda self: not self.prepared and not any(session.changes for session in self.sessions))
    @rule()
    def rewrite(self) -> None:
        self.admin.execute("VACUUM FULL src")

    # The workers.

    @rule(
        name=some.sampled_from([SWEEP, INTAKE, INTAKE]),
        steps=some.integers(min_value=1, max_value=4),
    )
    def step(self, name: str, steps: int) -> None:
        worker = self.worker(name)
        for _ in range(steps):
            worker.run_once()

    @rule(name=some.sampled_from([SWEEP, INTAKE]))
    def try_again(self, name: str) -> None:
        """An hour later."""
        self.admin.execute("UPDATE oneroof.governance_retry SET next_attempt_at = now() WHERE state = 'waiting'")
        worker = self.worker(name)
        assert isinstance(worker, BackfillSweep | HandoffIntake)
        retries = worker.retries if isinstance(worker, HandoffIntake) else worker._retries
        retries.run_once(worker.connection, worker.lease, due=True)

    @precondition(lambda self: self.workers)
    @rule(place=PLACE)
    def kill(self, place: int) -> None:
        """Gone without a word; whoever comes next has to wait for the lease to run out."""
        name = sorted(self.workers)[place % len(self.workers)]
        self.workers.pop(name).connection.close()
        inventory.run_out(self.admin)

    @invariant()
    def nothing_goes_down(self) -> None:
        found = self.admin.execute(
            "SELECT worker_name, source_name, coalesce(last_watermark_ts, '-infinity')::text,"
            " coalesce(frontier::text::bigint, 0), events_seen FROM oneroof.gov_worker_cursor"
        ).fetchall()
        for worker, name, mark, frontier, seen in found:
            before = self.marks.get((worker, name), ("", 0, 0))
            assert all(new >= old for new, old in zip((mark, frontier, seen), before, strict=True))
            self.marks[worker, name] = (mark, frontier, seen)
        (sane,) = one(
            self.admin,
            "SELECT coalesce(bool_and(last_watermark_ts <= now() + interval '6 minutes'), true) FROM"
            " oneroof.gov_worker_cursor",
        )
        assert sane

    def teardown(self) -> None:
        try:
            self.finish_host()
            if hasattr(self, "tailed"):
                self.drain()
                self.agree()
                self.replay()
        finally:
            for worker in self.workers.values():
                worker.connection.close()
            self.opened.close()
            for (gid,) in self.admin.execute("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"):
                self.admin.execute(sql.SQL("ROLLBACK PREPARED {}").format(sql.Literal(gid)))

    def finish_host(self) -> None:
        for who in (0, 1):
            self.commit(who)
        while self.prepared:
            self.end_prepared(0, commits=True)

    def drain(self) -> None:
        """Until every window is closed and nothing waits."""
        for worker in self.workers.values():
            worker.connection.close()
        self.workers.clear()
        for run in (inventory.sweep, inventory.intake):
            for _ in range(2):
                self.admin.execute(
                    "UPDATE oneroof.governance_retry SET next_attempt_at = now() WHERE state = 'waiting'"
                )
                inventory.run_out(self.admin)
                run(self.admin, self.tailed)

    def agree(self) -> None:
        """What the database has accounted is what the model has committed."""
        candidates: dict[str, list[str]] = {}
        for key, group in self.admin.execute("SELECT source_key, group_key FROM oneroof.governance_candidate_state"):
            candidates.setdefault(key, []).append(group)
        current = self.admin.execute("SELECT id, xmin::text::bigint FROM src").fetchall()
        assert {key for key, _ in current} == set(self.rows)
        for key, xid in current:
            items = self.admin.execute(
                "SELECT state FROM oneroof.governance_retry WHERE source_key = %s AND row_xid = %s", (str(key), xid)
            ).fetchall()
            if self.rows[key].is_poison:
                assert {state for (state,) in items} <= {"waiting", "dead"}, (key, items)
                assert items, f"row {key} is poison, and nobody knows"
            else:
                assert candidates.get(str(key)) == [f"src/{self.rows[key].status}"], (key, self.rows[key])
        for accounted, groups in candidates.items():
            assert set(groups) <= {f"src/{status}" for status in self.ever.get(int(accounted), ())}, accounted
        for (key,) in self.admin.execute("SELECT DISTINCT source_key::int FROM oneroof.governance_retry"):
            assert key in self.ever
        # Each version that is there has been counted once; one that was replaced before anybody came by, perhaps not.
        seen = inventory.seen(self.admin, SWEEP) + inventory.seen(self.admin, INTAKE)
        assert len(self.rows) <= seen <= self.committed, (len(self.rows), seen, self.committed)
        assert inventory.stale_open_rows(self.admin) == 0

    def replay(self) -> None:
        """All of it once more: no candidate more, none changed; and none touched."""
        state = (
            "SELECT candidate_key, group_key, change_number, updated_at FROM oneroof.governance_candidate_state"
            " ORDER BY 1"
        )
        before = self.admin.execute(state).fetchall()
        with self.admin.transaction():
            cursor.rewind(self.admin, worker=SWEEP, source="src")
        inventory.sweep(self.admin, self.tailed)
        assert self.admin.execute(state).fetchall() == before

    # What the rules share.

    def worker(self, name: str) -> Worker:
        if name not in self.workers:
            connection = connect(self.ground.dsn)
            held = inventory.claim(connection, name)
            self.workers[name] = (
                BackfillSweep(connection, self.tailed, held, batch=BATCH)
                if name == SWEEP
                else HandoffIntake(connection, self.tailed, held, batch=BATCH, sweep_interval=0)
            )
        return self.workers[name]

    def rename(self, who: int, place: int, *, is_poison: bool) -> None:
        if (key := self.free_key(who, place)) is not None:
            status = self.new_status()
            code = f"{POISON}{key}" if is_poison else f"c{key}"
            self.sessions[who].connection.execute(
                "UPDATE src SET code = %s, status = %s WHERE id = %s", (code, status, key)
            )
            self.change(who, key, Version(status, is_poison))

    def seen_by(self, who: int) -> dict[int, Version]:
        """The rows as a session sees them."""
        seen: dict[int, Version | None] = {**self.rows, **self.sessions[who].changes}
        return {key: version for key, version in seen.items() if version is not None}

    def free_key(self, who: int, place: int) -> int | None:
        """A row that this session can change without having to wait for another."""
        others = {key for session in self.sessions if session is not self.sessions[who] for key in session.changes}
        locked = others.union(*self.prepared.values())
        free = sorted(set(self.seen_by(who)) - locked)
        return free[place % len(free)] if free else None

    def change(self, who: int, key: int, version: Version | None) -> None:
        session = self.sessions[who]
        if session.is_open:
            session.changes[key] = version
        else:
            self.commit_changes({key: version})

    def commit_changes(self, changes: dict[int, Version | None] | dict[int, Version]) -> None:
        for key, version in changes.items():
            if version is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = version
                self.ever.setdefault(key, set()).add(version.status)
                self.committed += 1

    def new_status(self) -> str:
        return f"s{next(self.names)}"


@pytest.fixture
def ground(bed: Bed) -> Iterator[Ground]:
    with bed.database(bed.installed()) as name, connect(bed.dsn(name)) as admin:
        admin.execute("DELETE FROM oneroof.governance_source")
        with_index = inventory.make(admin)
        admin.execute("DROP INDEX src_at_id")
        yield Ground(bed.dsn(name), admin, {True: with_index, False: registration.find(admin, "src")})


def run_machine(ground: Ground, *, examples: int, steps: int, phases: list[Phase]) -> None:
    class OnThisGround(TailMachine):
        def __init__(self) -> None:
            super().__init__(ground)

    run_state_machine_as_test(
        OnThisGround,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=Phase.shrink not in phases,
            report_multiple_bugs=False,
            database=None,
            deadline=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_model_and_database_agree(ground: Ground) -> None:
    """The same few dozen runs every time; a failure is told as it is, since making it smaller takes minutes."""
    run_machine(ground, examples=40, steps=40, phases=[Phase.generate])


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_model_and_database_agree_for_long(ground: Ground) -> None:
    """Others every time, and longer ones."""
    run_machine(ground, examples=600, steps=80, phases=[Phase.generate, Phase.shrink])
