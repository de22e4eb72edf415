"""A fenced batch: the cursor moves with COMMIT or not at all; a piece that met another transaction runs again whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from bed import connect
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import OneroofError
from oneroof.fence import lease
from oneroof.fence.fenced_batch import ATTEMPTS, Batch, run_fenced
from oneroof.fence.lease import Lease

WHO: dict[str, Any] = {"worker": "gov_backfill_sweep", "source": "birth_registry", "doing": "working"}
SEEN = "SELECT events_seen FROM oneroof.gov_worker_cursor WHERE worker_name = 'gov_backfill_sweep'"
FAIL = "DO $$ BEGIN RAISE EXCEPTION 'now' USING ERRCODE = '{}'; END $$"


@pytest.fixture
def worker(installed_database: str) -> Iterator[tuple[Connection, Lease]]:
    with connect(installed_database) as connection:
        yield connection, lease.claim(connection, "gov_backfill_sweep:birth_registry", instance="a")


def advance(batch: Batch, seen: int) -> None:
    batch.advance(at=None, seen=seen, written=0, summary={})


def test_the_cursor_moves_with_the_commit(worker: tuple[Connection, Lease]) -> None:
    """Inside the batch it is where it was, unless a statement that follows must find it moved."""
    connection, held = worker

    def piece(batch: Batch) -> tuple[int, int]:
        advance(batch, 3)
        (before,) = one(batch.connection, SEEN)
        batch.flush()
        (after,) = one(batch.connection, SEEN)
        advance(batch, 4)
        return before, after

    assert run_fenced(connection, held, piece, **WHO) == (0, 3)
    assert one(connection, SEEN) == (7,)


def test_what_fails_moves_no_cursor(worker: tuple[Connection, Lease]) -> None:
    connection, held = worker

    def piece(batch: Batch) -> None:
        advance(batch, 3)
        batch.flush()
        batch.connection.execute(FAIL.format("22000"))

    run_fenced(connection, held, lambda batch: advance(batch, 1), **WHO)
    with pytest.raises(OneroofError):
        run_fenced(connection, held, piece, **WHO)
    assert one(connection, SEEN) == (1,)


@pytest.mark.parametrize("code", ["40001", "40P01", "55P03"])
def test_a_piece_that_met_another_transaction_runs_again_whole(worker: tuple[Connection, Lease], code: str) -> None:
    """A serialization failure, a deadlock, a lock time-out: from the cursor on, and so many times at the most."""
    connection, held = worker
    met: list[int] = []

    def piece(batch: Batch, *, until: int) -> int:
        met.append(batch.cursor.events_seen)
        advance(batch, 5)
        if len(met) < until:
            batch.flush()
            batch.connection.execute(FAIL.format(code))
        return len(met)

    assert run_fenced(connection, held, lambda batch: piece(batch, until=3), **WHO) == 3
    assert (met, one(connection, SEEN)) == ([0, 0, 0], (5,))
    met.clear()
    with pytest.raises(OneroofError) as caught:
        run_fenced(connection, held, lambda batch: piece(batch, until=100), **WHO)
    assert isinstance(caught.value.__cause__, psycopg.Error)
    assert (met, one(connection, SEEN)) == ([5] * ATTEMPTS, (5,))
