"""What the walk over an inventory remembers: what was written from a version below H says so itself, and is applied and
counted once all the same.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from psycopg import sql

import inventory
from inventory import INTAKE
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.tail import frontier_window, row_queries
from oneroof.workers.handoff_intake import HandoffIntake

ROWS = "INSERT INTO src SELECT n, now() - interval '1 day', 'c' || n FROM generate_series(1, 40) AS n"
# Thirty change, ten are written as they are; all of them newer than anything else, so that both lanes meet them.
CHANGES = """UPDATE src SET status = CASE WHEN id <= 30 THEN 'active' ELSE status END, at = now()"""
REMEMBERED = "SELECT count(*) FROM oneroof.governance_open_row"


def changed(admin: Connection, *, for_ever: bool = False) -> HandoffIntake:
    """An intake in front of changes that are all below H, five at a time. One that runs for ever looks for the newest
    rows between two steps of its pass; of another the pass comes first here.
    """
    tailed = inventory.make(admin)
    # On several pages, so that there are halves of them.
    admin.execute("ALTER TABLE src ADD filling text DEFAULT repeat('x', 400)")
    admin.execute(ROWS)
    inventory.sweep(admin, tailed)
    inventory.intake(admin, tailed)
    admin.execute(CHANGES)
    inventory.settle(admin)
    lease = inventory.claim(admin, INTAKE)
    return HandoffIntake(admin, tailed, lease, batch=5, at_once=not for_ever, sweep_interval=0.0)


def walked(admin: Connection, intake: HandoffIntake, *, between: Callable[[], object] = lambda: None) -> list[str]:
    """What is wrong after a walk, in the middle of which something happens."""
    before, most, is_over = inventory.seen(admin, INTAKE), 0, False
    while not is_over:
        if intake.at_once and not intake.windows_closed:
            intake.frontier.run_once(admin, intake.lease, budget_ms=200)
        else:
            is_over = intake.run_once().idle or intake.windows_closed > 2
        most = max(most, one(admin, REMEMBERED)[0])
        if before < inventory.seen(admin, INTAKE) < before + 40:
            between()
    counted = inventory.seen(admin, INTAKE) - before
    found = [*([f"{counted} counted"] if counted != 40 else []), *([f"{most} remembered"] if most > 10 else [])]
    twice = one(admin, "SELECT count(*) FROM oneroof.governance_candidate_state WHERE change_number > 2")[0]
    return [*inventory.wrong(admin), *found, *([f"{twice} changed twice"] if twice else [])]


def inherited(admin: Connection) -> list[str]:
    """After a walk of which the first process did the beginning, and is gone with all it knew by heart."""
    first = changed(admin)
    before = inventory.seen(admin, INTAKE)
    while inventory.seen(admin, INTAKE) == before:
        first.frontier.run_once(admin, first.lease, budget_ms=200)
    inventory.run_out(admin)
    heir = HandoffIntake(admin, first.source, inventory.claim(admin, INTAKE), batch=5)
    for _ in range(200):
        heir.run_once()
        if one(admin, "SELECT window_horizon IS NULL FROM oneroof.gov_worker_cursor WHERE worker_name = %s", (INTAKE,))[
            0
        ]:
            break
    counted = inventory.seen(admin, INTAKE) - before
    return [*inventory.wrong(admin), *([f"{counted} counted"] if counted != 40 else [])]


def test_an_heir_goes_on_where_the_walk_was_and_counts_nothing_twice(admin: Connection) -> None:
    """Its fast lane passes over what the walk has been by."""
    assert inherited(admin) == []


@pytest.mark.parametrize("for_ever", [True, False])
def test_a_version_that_was_written_is_not_remembered_and_counts_once(admin: Connection, *, for_ever: bool) -> None:
    """The fast lane comes by, while the window is open or after it, and passes over what the walk has been by."""
    assert walked(admin, changed(admin, for_ever=for_ever)) == []


def test_mutant_fast_lane_that_does_not_know_where_the_walk_has_been_counts_twice(
    admin: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frontier_window, "passed", lambda _: {"passed": "(0,0)", "below": "0"})
    assert any("counted" in each for each in inherited(admin))


def rewritten(admin: Connection) -> list[str]:
    """After one VACUUM FULL in the middle of a walk."""
    times: list[int] = []

    def rewrite() -> None:
        if not times:
            times.append(1)
            admin.execute("VACUUM FULL src")

    return walked(admin, changed(admin), between=rewrite)


def test_a_rewrite_in_the_middle_of_a_walk_counts_no_version_twice(admin: Connection) -> None:
    """Rows that changed are known by their candidates, those that did not by what is remembered."""
    assert rewritten(admin) == []


def test_mutant_walk_that_does_not_look_at_candidates_after_a_rewrite_counts_twice(
    admin: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_queries, "news", lambda _: sql.SQL("true"))
    assert any("counted" in each for each in rewritten(admin))
