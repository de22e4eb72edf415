"""The tail against every order of what transactions can do: nothing lost, nothing twice (promises 1 and 2).

Three sessions write to a change log in all the ways that break other tails: late commits, ids and timestamps taken long
before the xid, sub-transactions, prepared and aborted transactions, back-dated, infinite and missing timestamps. Orders
of their steps are enumerated; the tail runs in between. Take away the frontier, the open set or the lower bound, and
these tests fail: the mutants below show it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from psycopg import sql

from bed import Bed, connect, eventually
from oneroof.database.connection import Answer, Connection
from oneroof.database.statements import one
from oneroof.errors import OneroofError
from oneroof.fence import cursor, lease
from oneroof.fence.cursor import Cursor
from oneroof.fence.step import Run
from oneroof.intake.known import Glance
from oneroof.intake.newest_rows import NewestRows, _Read
from oneroof.sources import registration
from oneroof.tail import open_set
from oneroof.tail.forgetting import OpenSet
from oneroof.tail.pass_schedule import Lull
from oneroof.workers.handoff_intake import NAME, HandoffIntake

pytestmark = pytest.mark.slow

EFFECT = "INSERT INTO public.effect SELECT source_key, row_xid FROM batch RETURNING false AS born, 0 AS coalesced"

# Each way is one session's steps; {k} is a key of its own. The insert names the timestamp that makes it nasty.
INSERT = "INSERT INTO log (id, at) VALUES ({k}, %s)"
WAYS = {
    "late": ["BEGIN", INSERT % "now()", "SELECT 1", "COMMIT"],
    "pre-xid": ["BEGIN", "SELECT now(), nextval('log_id')", "SELECT 2", INSERT % "now()", "COMMIT"],
    "backdated": ["BEGIN", INSERT % "now() - interval '1 year'", "COMMIT"],
    "infinite": ["BEGIN", INSERT % "'infinity'", "COMMIT"],
    "null": ["BEGIN", INSERT % "NULL", "COMMIT"],
    "sub": ["BEGIN", "SELECT pg_current_xact_id()", "SAVEPOINT s", INSERT % "now()", "RELEASE s", "COMMIT"],
    "sub-aborted": ["BEGIN", "SAVEPOINT s", INSERT % "now()", "ROLLBACK TO s", INSERT % "now()", "COMMIT"],
    "aborted": ["BEGIN", INSERT % "now()", "ROLLBACK"],
    "prepared": ["BEGIN", INSERT % "now()", "PREPARE TRANSACTION 'p{gid}'", "COMMIT PREPARED 'p{gid}'"],
    "unprepared": ["BEGIN", INSERT % "now()", "PREPARE TRANSACTION 'p{gid}'", "ROLLBACK PREPARED 'p{gid}'"],
    "autocommit": [INSERT % "now()"],
}
NEVER = {"aborted", "unprepared"}


@dataclass
class Stage:
    """A change log, a tail on it, and three sessions of the host."""

    admin: Connection
    sessions: list[Connection]
    intake: HandoffIntake
    keys: Iterator[int]

    def drain(self) -> None:
        """Run the tail until its frontier has passed everything that was written before now."""
        (target,) = one(self.admin, "SELECT pg_current_xact_id()::text::bigint")
        frontier = "SELECT frontier::text::bigint > %s FROM oneroof.gov_worker_cursor WHERE source_name = 'log'"

        def passed() -> bool:
            self.intake.run_once()
            return bool(one(self.admin, frontier, (target,))[0])

        eventually(passed, what="the frontier to pass")


@contextmanager
def staged(bed: Bed) -> Iterator[Stage]:
    with bed.database(bed.installed()) as name, connect(bed.dsn(name)) as admin, connect(bed.dsn(name)) as worker:
        sessions = [connect(bed.dsn(name)) for _ in range(3)]
        admin.execute("CREATE TABLE log (id int PRIMARY KEY, at timestamptz)")
        admin.execute("CREATE INDEX ON log (at, id)")
        admin.execute("CREATE SEQUENCE log_id")
        admin.execute("CREATE TABLE effect (source_key text, row_xid bigint)")
        admin.execute("GRANT INSERT ON effect TO oneroof_worker")
        added = registration.add(admin, "log", key=["id"], timestamp="at", kind="changelog")
        held = lease.claim(worker, f"{NAME}:log", instance="test", ttl=600)
        intake = HandoffIntake(worker, added, held, sweep_interval=0, effect=EFFECT)
        intake.run_once()
        yield Stage(admin, sessions, intake, iter(range(1, 10**9)))
        for session in sessions:
            session.close()


def play(stage: Stage, chance: random.Random) -> str:
    """One order of three ways, with the tail at random moments in between; what went wrong, or nothing."""
    ways = [chance.choice(list(WAYS)) for _ in range(3)]
    keys = [next(stage.keys) for _ in ways]
    scripts = [
        [step.format(k=key, gid=f"{os.getpid()}-{key}") for step in WAYS[way]]
        for way, key in zip(ways, keys, strict=True)
    ]
    order = [i for i, script in enumerate(scripts) for _ in script]
    chance.shuffle(order)
    for i in order:
        stage.sessions[i].execute(sql.SQL(scripts[i].pop(0)))
        if chance.random() < 0.35:
            stage.intake.run_once()
    stage.drain()
    found = stage.admin.execute(
        "SELECT k, count(e.source_key) FROM unnest(%s::text[]) AS k LEFT JOIN effect e ON e.source_key = k GROUP BY k",
        ([str(key) for key in keys],),
    ).fetchall()
    applied: dict[str, int] = dict(found)
    wrong = {
        f"{way} (key {key}): applied {applied[str(key)]} times"
        for way, key in zip(ways, keys, strict=True)
        if applied[str(key)] != (0 if way in NEVER else 1)
    }
    return f"{wrong} in {order}" if wrong else ""


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 8))])
def test_nothing_is_lost_and_nothing_twice(bed: Bed, seed: int) -> None:
    """250 orders a seed; 2,000 in a soak."""
    chance = random.Random(seed)
    with staged(bed) as stage:
        for _ in range(250):
            assert play(stage, chance) == ""
        (effects,) = one(stage.admin, "SELECT count(*) FROM effect")
        (seen,) = one(stage.admin, "SELECT events_seen FROM oneroof.gov_worker_cursor WHERE source_name = 'log'")
        (rows,) = one(stage.admin, "SELECT count(*) FROM log")
        assert effects == seen == rows


def mistakes(bed: Bed, orders: int) -> int:
    chance = random.Random(0)
    found = 0
    with staged(bed) as stage:
        for _ in range(orders):
            try:
                found += play(stage, chance) != ""
            except OneroofError:  # a second effect that the database itself refused
                return found + 1
    return found


def test_mutant_without_the_frontier_loses_rows(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast lane alone misses what is back-dated, missing or late."""
    monkeypatch.setattr(Lull, "is_due", lambda *_, **__: False)
    monkeypatch.setattr(Stage, "drain", lambda stage: [stage.intake.run_once() for _ in range(6)])
    assert mistakes(bed, 40) > 0


def test_mutant_without_the_open_set_applies_twice(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the fast lane saw comes again with the frontier."""
    monkeypatch.setattr(open_set, "unseen", lambda _: sql.SQL("true"))
    monkeypatch.setattr(open_set, "is_ordered", lambda _: False)
    monkeypatch.setattr(Stage, "drain", lambda stage: [stage.intake.run_once() for _ in range(6)])
    assert mistakes(bed, 40) > 0


def test_mutant_that_thinks_nothing_is_remembered_applies_twice(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows beyond the latest remembered xid are not looked up; so it has to be known."""
    monkeypatch.setattr(OpenSet, "read", lambda *_: 0)
    assert mistakes(bed, 40) > 0


def test_mutant_that_takes_the_newest_xid_for_the_horizon_loses_rows(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """With xmax for xmin, a transaction that is still open is passed over for good."""
    read = cursor.read

    def newest(answer: Answer) -> Cursor:
        here = read(answer)
        return replace(here, horizon=here.next_xid)

    monkeypatch.setattr(cursor, "read", newest)
    monkeypatch.setattr(
        NewestRows, "_read", lambda _, batch, **__: _Read(batch.cursor, Glance(passes_over=False), Run())
    )
    assert mistakes(bed, 60) > 0
