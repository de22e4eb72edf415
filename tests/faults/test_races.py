"""Two of ours that meet at one row: writers of a candidate, counters of a version, a replay and what it repeats.

(promises 1, 2 and 5)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import inventory
from bed import connect, eventually
from inventory import INTAKE, POISON, SWEEP
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.failures.batch_size import Width
from oneroof.fence import cursor
from oneroof.intake.retry_failed import Retries
from oneroof.sources.source import CHANGELOG
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.handoff_intake import HandoffIntake


@pytest.fixture
def admin(installed_database: str) -> Iterator[Connection]:
    with connect(installed_database) as connection:
        connection.execute("DELETE FROM oneroof.governance_source")
        yield connection


def test_an_older_version_never_overwrites_a_newer_one(admin: Connection, installed_database: str) -> None:
    """The sweep tries items again while the intake is at work; who read earlier and writes later changes nothing."""
    tailed = inventory.make(admin)
    admin.execute("UPDATE oneroof.governance_worker_policy SET backoff_first = '1 hour', backoff_most = '1 hour'")
    admin.execute("INSERT INTO src (id, at, code) SELECT n, now(), %s || n FROM generate_series(1, 2) AS n", (POISON,))
    inventory.sweep(admin, tailed)
    admin.execute("UPDATE src SET code = 'code ' || id, status = 'old'")
    inventory.intake(admin, tailed)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_retry WHERE state = 'done'") == (2,), "applied again"
    # The sweep will see what the intake has not seen yet.
    admin.execute("UPDATE src SET status = 'between', at = '2001-01-01'")
    admin.execute("UPDATE oneroof.governance_retry SET state = 'waiting', next_attempt_at = now()")
    with connect(installed_database) as sweeper, connect(installed_database) as blocker:
        held = inventory.claim(sweeper, SWEEP)
        intake = HandoffIntake(admin, tailed, inventory.claim(admin, INTAKE))
        retries = Retries(SWEEP, tailed, "src", Width(most=10), anew=True)
        again = threading.Thread(target=lambda: retries.run_once(sweeper, held, due=True), daemon=True)
        with blocker.transaction():
            blocker.execute("SELECT FROM oneroof.governance_candidate_state WHERE source_key = '1' FOR UPDATE")
            again.start()
            waits = "SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted"
            eventually(lambda: one(admin, waits, (sweeper.info.backend_pid,))[0], what="the sweep to wait", seconds=2)
            admin.execute("UPDATE src SET status = 'new', at = now() WHERE id = 2")
            assert intake.run_once().written == 1
        again.join(timeout=30)
    inventory.run_out(admin)
    inventory.intake(admin, tailed)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_retry WHERE state = 'waiting'") == (0,)
    assert inventory.wrong(admin) == []


def test_a_replay_of_the_intake_counts_nothing_twice(admin: Connection) -> None:
    """It begins where the sweep ended, and everything since then is known."""
    tailed = inventory.make(admin)
    inventory.sweep(admin, tailed)
    admin.execute("INSERT INTO src (id, at, code) SELECT n, now(), 'code ' || n FROM generate_series(1, 5) AS n")
    inventory.intake(admin, tailed)
    state = "SELECT candidate_key, change_number FROM oneroof.governance_candidate_state ORDER BY 1"
    before = admin.execute(state).fetchall()
    with admin.transaction():
        cursor.rewind(admin, worker=INTAKE, source="src")
    inventory.intake(admin, tailed)
    assert admin.execute(state).fetchall() == before
    assert inventory.seen(admin, INTAKE) == 5


def test_a_replay_of_the_sweep_adds_no_dead_letter(admin: Connection) -> None:
    """A version that the intake gave up is known to be bad; the sweep does not count it and raise it once more."""
    tailed = inventory.make(admin)
    inventory.impatient(admin, attempts=1)
    inventory.sweep(admin, tailed)
    admin.execute("INSERT INTO src (id, at, code) VALUES (1, now(), %s)", (POISON,))
    inventory.intake(admin, tailed)
    letters = (
        "SELECT (SELECT count(*) FROM oneroof.governance_retry), (SELECT count(*) FROM"
        " oneroof.governance_finding WHERE is_open)"
    )
    before = one(admin, letters)
    assert before[0] == 1
    with admin.transaction():
        cursor.rewind(admin, worker=SWEEP, source="src")
    inventory.sweep(admin, tailed)
    assert one(admin, letters) == before
    assert (inventory.seen(admin, SWEEP), inventory.seen(admin, INTAKE)) == (0, 1)


def test_a_replay_of_a_change_log_loses_nothing(admin: Connection) -> None:
    """Rows that were committed and not yet applied when the replay was asked for are applied after it."""
    tailed = inventory.make(admin, kind=CHANGELOG)
    inventory.intake(admin, tailed)
    admin.execute("INSERT INTO src (id, at, code) SELECT n, now(), 'code ' || n FROM generate_series(1, 5) AS n")
    with admin.transaction():
        cursor.rewind(admin, worker=INTAKE, source="src")
    inventory.intake(admin, tailed)
    assert inventory.seen(admin, INTAKE) == 5


def test_a_rewrite_during_a_sweep_counts_no_version_twice(admin: Connection) -> None:
    """What was born after the sweep began the intake counts, also where the walk begins anew."""
    tailed = inventory.make(admin, indexed=False)
    admin.execute("INSERT INTO src (id, at, code) SELECT n, now(), 'code ' || n FROM generate_series(1, 20) AS n")
    inventory.settle(admin)
    held = inventory.claim(admin, SWEEP)
    sweep = BackfillSweep(admin, tailed, held, batch=5)
    while not inventory.seen(admin, SWEEP):
        sweep.run_once()
    assert inventory.seen(admin, SWEEP) < 20
    admin.execute("INSERT INTO src (id, at, code) SELECT n, now(), 'code ' || n FROM generate_series(21, 25) AS n")
    admin.execute("VACUUM FULL src")
    inventory.until_idle(sweep)
    inventory.intake(admin, tailed)
    assert inventory.wrong(admin) == []
    assert (inventory.seen(admin, SWEEP), inventory.seen(admin, INTAKE)) == (20, 5)
