"""Random estates, changes and orders of workers: in the end every verdict is as if it had been judged from scratch.

Workers take single steps in any order, some of them on connections that are cut in the middle, while rows, policies,
owners, exceptions and the clock change under them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo

import judging
from bed import as_user, connect, set_clock
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import OneroofError
from oneroof.fence import lease
from oneroof.people import coverage_exceptions, owners, requests
from oneroof.runtime.assignment import Worker
from oneroof.workers import backfill_sweep, candidate_scan, handoff_intake, input_gate
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.candidate_scan import CandidateScan
from oneroof.workers.handoff_intake import HandoffIntake
from oneroof.workers.input_gate import InputGate

HEAD = "level,subject,responsibility,owner,valid_from,valid_to\n"
BEGIN: dict[str, Callable[..., Worker]] = {
    backfill_sweep.NAME: BackfillSweep,
    handoff_intake.NAME: partial(HandoffIntake, at_once=True, sweep_interval=0.0),
    input_gate.NAME: InputGate,
    candidate_scan.NAME: partial(CandidateScan, at_once=True, sweep_interval=0.0),
}
SEEDS = range(4)


class World:
    """The estate under change, and the workers on it."""

    def __init__(self, dsn: str, admin: Connection, seed: int) -> None:
        self.dsn, self.admin, self.chance = dsn, admin, random.Random(seed)
        self.births = judging.births(admin)
        self.operator, self.approver = connect(as_user(dsn, "requester")), connect(as_user(dsn, "approver"))
        self.days = 0
        self.acts: list[Callable[[], None]] = [
            self.work,
            self.work,
            self.work,
            self.cut_off,
            self.give_birth,
            self.change_rows,
            self.change_policy,
            self.change_owner,
            self.excuse,
            self.let_time_pass,
        ]

    def close(self) -> None:
        self.operator.close()
        self.approver.close()

    def step(self) -> None:
        self.chance.choice(self.acts)()

    def work(self) -> None:
        """One worker takes a few steps, with a batch of some size."""
        with connect(self.dsn) as connection:
            self._steps(connection, self.chance.choice(list(BEGIN)))

    def cut_off(self) -> None:
        """The same, but the server ends its session after some statements, as if the machine were gone."""
        with connect(make_conninfo(self.dsn, application_name="doomed")) as doomed:
            left = self.chance.randrange(3, 25)
            plain = doomed.execute

            def execute(*given: Any, **more: Any) -> Any:
                nonlocal left
                left -= 1
                if left == 0:
                    self.admin.execute("SELECT pg_terminate_backend(%s)", (doomed.info.backend_pid,))
                return plain(*given, **more)

            doomed.execute = execute  # type: ignore[method-assign]
            with suppress(OneroofError):
                self._steps(doomed, self.chance.choice(list(BEGIN)))
        self.admin.execute("UPDATE queue_heartbeat SET last_tick_at = last_tick_at - interval '1 hour'")

    def _steps(self, connection: Connection, name: str) -> None:
        held = lease.claim(connection, f"{name}:{judging.BIRTHS}", instance="test")
        worker = BEGIN[name](connection, self.births, held, batch=self.chance.choice([7, 90, 800]))
        for _ in range(self.chance.randrange(1, 8)):
            worker.run_once()
        lease.release(connection, held)

    def give_birth(self) -> None:
        self.admin.execute(
            "INSERT INTO birth_registry"
            " (entity_code, collection_name, species_code, governance_role, status, certified, born_at)"
            " SELECT 'NEW-' || gen_random_uuid(), %s, 'SPC-' || (random() * 9)::int, 'container', 'born', false,"
            " clock_timestamp() FROM generate_series(1, %s)",
            (self._collection(), self.chance.randrange(1, 20)),
        )

    def change_rows(self) -> None:
        status = self.chance.choice(["born", "retired", "superseded", "active"])
        self.admin.execute(
            "UPDATE birth_registry SET status = %s"
            " WHERE id IN (SELECT id FROM birth_registry ORDER BY random() LIMIT 15)",
            (status,),
        )

    def change_policy(self) -> None:
        scope = self.chance.choice(["IN_SCOPE", "USER_EXCLUDED", "FUTURE_SCOPE", "ORPHAN_REGISTRY"])
        coverage = self.chance.choice(["BIRTH_REQUIRED", "BIRTH_EXEMPT_SYSTEM", "BIRTH_DEFERRED_NEEDS_REVIEW"])
        self.admin.execute(
            "UPDATE collection_registry SET coverage_scope_status = %s, coverage_status = %s"
            " WHERE collection_name = %s",
            (scope, coverage, self._collection()),
        )

    def change_owner(self) -> None:
        level, subject = self.chance.choice([("collection", self._collection()), ("object", self._key())])
        office = self.chance.choice(["GOV-COUNCIL", "GOV-SIV", "GOV-DOT"])
        owners.take(self.operator, f"{HEAD}{level},{subject},policy,{office},,\n".encode(), form="csv")

    def excuse(self) -> None:
        level, subject = self.chance.choice([("collection", self._collection()), ("object", self._key())])
        with suppress(OneroofError):
            made = coverage_exceptions.add(self.operator, level, subject, reason="for a while")
            if made.request_id is not None and self.chance.random() < 0.7:
                requests.decide(self.approver, made.request_id, "approved")
            if self.chance.random() < 0.3:
                coverage_exceptions.revoke(self.operator, made.exception_id)

    def let_time_pass(self) -> None:
        self.days += self.chance.choice([1, 40])
        set_clock(self.admin, f"{self.days} days")

    def _collection(self) -> str:
        names = "SELECT collection_name FROM collection_registry ORDER BY collection_name"
        return str(self.chance.choice(self.admin.execute(names).fetchall())[0])

    def _key(self) -> str:
        births = (
            "SELECT collection_name || ':' || entity_code FROM birth_registry"
            " WHERE canonical_address IS NULL ORDER BY id"
        )
        return str(self.chance.choice(self.admin.execute(births).fetchmany(50))[0])

    def finish(self) -> None:
        self.admin.execute("UPDATE queue_heartbeat SET last_tick_at = last_tick_at - interval '1 hour'")
        judging.sweep(self.admin, self.births)
        judging.intake(self.admin, self.births)
        judging.judge(self.admin, self.births)


@pytest.fixture
def world(installed_database: str, admin: Connection, request: pytest.FixtureRequest) -> Iterator[World]:
    made = World(installed_database, admin, request.param)
    yield made
    made.close()


@pytest.mark.parametrize("world", SEEDS, indirect=True)
def test_the_end_is_as_if_judged_from_scratch(world: World) -> None:
    """Sixty things happen; then the workers finish; the verdicts, the books and the keys are what they must be."""
    for _ in range(60):
        world.step()
    world.finish()
    judging.check(world.admin)
    missing = (
        "SELECT count(*) FROM birth_registry AS b WHERE NOT EXISTS (SELECT FROM oneroof.governance_candidate_state AS c"
        " WHERE c.candidate_key = coalesce(b.canonical_address, b.collection_name || ':' || b.entity_code))"
    )
    assert one(world.admin, missing) == (0,)
