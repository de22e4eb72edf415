"""A turn of the fast lane that is like the last one is said in one message with its fence and its cursor."""

from __future__ import annotations

import pytest

import inventory
from oneroof import batch, cursor
from oneroof.db import Connection, allow_preparing, one
from oneroof.worker import Step
from oneroof.workers.handoff_intake import HandoffIntake

BORN = "INSERT INTO src SELECT n, now(), 'c' || n FROM generate_series(%s::int, %s::int) AS n"


@pytest.fixture
def intake(admin: Connection) -> HandoffIntake:
    """One that has looked for the newest rows, and whose frontier rests."""
    allow_preparing(admin)
    tailed = inventory.make(admin)
    inventory.sweep(admin, tailed)
    lane = HandoffIntake(admin, tailed, inventory.claim(admin, inventory.INTAKE), sweep_interval=3600)
    inventory.until_idle(lane)
    return lane


def turn(lane: HandoffIntake, monkeypatch: pytest.MonkeyPatch) -> tuple[Step, int]:
    """A turn, and how often it asked by itself for rows."""
    asked = 0
    apply = batch.apply

    def counted(connection: Connection, ask: batch.Ask) -> batch.Applied:
        nonlocal asked
        asked += 1
        return apply(connection, ask)

    monkeypatch.setattr(batch, "apply", counted)
    step = lane.run_once()
    monkeypatch.setattr(batch, "apply", apply)
    return step, asked


def test_rows_come_with_the_cursor(admin: Connection, intake: HandoffIntake, monkeypatch: pytest.MonkeyPatch) -> None:
    admin.execute(BORN, (1, 5))
    step, asked = turn(intake, monkeypatch)
    assert (step.seen, asked) == (5, 0)
    assert inventory.wrong(admin) == []
    assert inventory.seen(admin, inventory.INTAKE) == 5


def test_what_was_asked_counts_for_nothing_if_the_cursor_was_moved(
    admin: Connection, intake: HandoffIntake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody rewinds the cursor meanwhile: a full pass follows, and nothing is applied or counted twice."""
    admin.execute(BORN, (1, 5))
    assert turn(intake, monkeypatch)[0].seen == 5
    with admin.transaction():
        cursor.rewind(admin, worker=inventory.INTAKE, source="src")
    admin.execute(BORN, (6, 9))
    turn(intake, monkeypatch)
    assert one(admin, "SELECT phase FROM gov_worker_cursor WHERE worker_name = %s", (inventory.INTAKE,)) == (
        "reconciling",
    )
    inventory.settle(admin)
    inventory.until_idle(intake)
    assert inventory.wrong(admin) == []
    assert inventory.seen(admin, inventory.INTAKE) == 9


def test_what_the_server_has_forgotten_is_prepared_again(
    admin: Connection, intake: HandoffIntake, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.execute(BORN, (1, 2))
    assert turn(intake, monkeypatch)[1] == 0
    admin.execute("DEALLOCATE ALL")
    admin.execute(BORN, (3, 4))
    assert turn(intake, monkeypatch) == (Step(seen=2, written=2, idle=False), 1)
    admin.execute(BORN, (5, 6))
    assert turn(intake, monkeypatch) == (Step(seen=2, written=2, idle=False), 0)
    assert inventory.seen(admin, inventory.INTAKE) == 6


def test_where_nothing_is_prepared_rows_are_asked_for_by_themselves(
    admin: Connection, intake: HandoffIntake, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.prepare_threshold = None
    other = HandoffIntake(admin, intake.source, intake.lease, sweep_interval=3600)
    inventory.until_idle(other)
    admin.execute(BORN, (1, 3))
    # What this connection has prepared before it may still call.
    admin.execute("DEALLOCATE ALL")
    step, asked = turn(other, monkeypatch)
    assert (step.seen, asked) == (3, 1)
