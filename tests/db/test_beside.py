"""Two pieces of a walk at once: the second is kept behind the first, whole or not at all, and nothing counts twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

import inventory
from bed import connect
from inventory import INTAKE
from oneroof import ahead, batch, beside, facts
from oneroof.batch import Applied, Ask
from oneroof.beside import Kept
from oneroof.db import Connection, one
from oneroof.errors import OneroofError
from oneroof.lease import Lease
from oneroof.source import Source
from oneroof.workers.handoff_intake import HandoffIntake

ROWS = "INSERT INTO src SELECT n, now() - interval '1 day', 'c' || n FROM generate_series(1, 60) AS n"
CHANGES = "UPDATE src SET status = 'active'"
STATE = """SELECT (SELECT count(*) FROM governance_candidate_state WHERE group_key = 'src/active'),
                  (SELECT events_seen FROM gov_worker_cursor WHERE worker_name = %(worker)s AND source_name = 'src')"""


@pytest.fixture
def tailed(admin: Connection, monkeypatch: pytest.MonkeyPatch) -> Source:
    """Sixty rows on several pages, swept and followed; a short walk is as good as a long one."""
    monkeypatch.setattr(ahead, "LONG", 0)
    monkeypatch.setattr(beside, "FEW", 1)
    tailed = inventory.make(admin)
    admin.execute("ALTER TABLE src ADD filling text DEFAULT repeat('x', 400)")
    admin.execute(ROWS)
    inventory.sweep(admin, tailed)
    inventory.intake(admin, tailed)
    return tailed


@pytest.fixture
def intake(admin: Connection, tailed: Source, installed_database: str) -> Callable[[], HandoffIntake]:
    """Makes an intake that may open a second connection, when all there is to read is below H."""

    def make() -> HandoffIntake:
        inventory.settle(admin)
        held: Lease = inventory.claim(admin, INTAKE)
        return HandoffIntake(admin, tailed, held, batch=10, at_once=True, dial=lambda: connect(installed_database))

    return make


@contextmanager
def noting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Kept | None]]:
    """What came of every piece that was applied beside another."""
    plain, came = beside.Beside._result, list[Kept | None]()

    def noted(each: beside.Beside) -> Kept | None:
        was_under_way = each._under_way is not None
        kept = plain(each)
        if was_under_way:
            came.append(kept)
        return kept

    with monkeypatch.context() as patched:
        patched.setattr(beside.Beside, "_result", noted)
        yield came


def seen(admin: Connection) -> int:
    return inventory.seen(admin, INTAKE)


def wrong(admin: Connection) -> list[str]:
    """Of all that was written, with what was written twice."""
    (twice,) = one(admin, "SELECT count(*) FROM governance_candidate_state WHERE change_number > 2")
    return [*inventory.wrong(admin), *([f"{twice} changed twice"] if twice else [])]


def test_two_pieces_are_applied_at_once_and_every_row_once(
    admin: Connection, intake: Callable[[], HandoffIntake], monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.execute(CHANGES)
    before = seen(admin)
    with noting(monkeypatch) as came:
        inventory.until_idle(intake())
    assert came
    assert None not in came
    assert seen(admin) - before == 60
    assert wrong(admin) == []
    shards = admin.execute("SELECT DISTINCT shard FROM governance_ledger WHERE group_key = 'src/active'").fetchall()
    assert (17,) in shards


def test_what_did_not_change_is_done_again_alone_and_counts_once(
    admin: Connection, intake: Callable[[], HandoffIntake], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of which nothing comes may be one whose key the piece before has: nobody can tell at that moment."""
    admin.execute("UPDATE src SET status = CASE WHEN id % 7 = 0 THEN status ELSE 'active' END")
    before = seen(admin)
    with noting(monkeypatch) as came:
        inventory.until_idle(intake())
    assert None in came
    assert seen(admin) - before == 60
    assert wrong(admin) == []


def test_rows_of_one_key_in_both_pieces_are_one_candidate_and_a_duplicate(
    admin: Connection, intake: Callable[[], HandoffIntake]
) -> None:
    admin.execute("INSERT INTO src SELECT n, now(), 'd' || n % 20 FROM generate_series(61, 100) AS n")
    inventory.until_idle(intake())
    made = "SELECT count(*) FROM governance_candidate_state WHERE candidate_key LIKE 'src:d%'"
    assert one(admin, made) == (20,)
    assert one(admin, "SELECT count(*), count(*) FILTER (WHERE is_double) FROM governance_duplicate") == (20, 20)


def failing(monkeypatch: pytest.MonkeyPatch, admin: Connection) -> threading.Event:
    """The first piece that is applied beside another fails, when the other is done and waits at the fence."""
    plain, done, failed = batch.apply, threading.Event(), threading.Event()

    def apply(connection: Connection, asked: Ask) -> Applied:
        if connection is not admin:
            applied = plain(connection, asked)
            if asked.given["tids"] != "{}":
                done.set()
            return applied
        if asked.given.get("tids", "{}") != "{}" and not failed.is_set():
            assert done.wait(30)
            failed.set()
            raise OneroofError("no more") from psycopg.errors.DivisionByZero()
        return plain(connection, asked)

    monkeypatch.setattr(batch, "apply", apply)
    return failed


def test_where_the_piece_before_fails_nothing_of_the_second_is_kept(
    admin: Connection, intake: Callable[[], HandoffIntake], monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.execute(CHANGES)
    walking, before = intake(), one(admin, STATE, {"worker": INTAKE})
    with monkeypatch.context() as patched:
        failed = failing(patched, admin)
        while not failed.is_set():
            walking.run_once()
        assert one(admin, STATE, {"worker": INTAKE}) == before
    inventory.until_idle(walking)
    assert seen(admin) - before[1] == 60
    assert wrong(admin) == []


def test_mutant_that_does_not_look_where_the_cursor_is_keeps_a_piece_out_of_its_turn(
    admin: Connection, intake: Callable[[], HandoffIntake], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cursor is then behind a piece that nobody has applied."""
    admin.execute(CHANGES)
    walking, before = intake(), one(admin, STATE, {"worker": INTAKE})
    monkeypatch.setattr(beside, "follows", lambda *_: True)
    with monkeypatch.context() as patched:
        failed = failing(patched, admin)
        while not failed.is_set():
            walking.run_once()
    assert one(admin, STATE, {"worker": INTAKE}) != before
    inventory.until_idle(walking)
    assert inventory.wrong(admin) != []


def test_who_lost_the_lease_meanwhile_keeps_neither(
    admin: Connection,
    intake: Callable[[], HandoffIntake],
    installed_database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first fails, and an heir is there before the second comes to the fence (promise 7)."""
    admin.execute(CHANGES)
    walking, before = intake(), one(admin, STATE, {"worker": INTAKE})
    plain, failed = batch.apply, threading.Event()

    def apply(connection: Connection, asked: Ask) -> Applied:
        if asked.given.get("tids", "{}") == "{}":
            return plain(connection, asked)
        if connection is admin:
            failed.set()
            raise OneroofError("no more") from psycopg.errors.DivisionByZero()
        applied = plain(connection, asked)
        assert failed.wait(30)
        with connect(installed_database) as other:
            # Waits for the first one's lock to go.
            other.execute("UPDATE queue_heartbeat SET last_tick_at = last_tick_at - interval '1 hour'")
            inventory.claim(other, INTAKE)
        return applied

    monkeypatch.setattr(batch, "apply", apply)
    with pytest.raises(OneroofError, match="lost"):
        inventory.until_idle(walking)
    assert one(admin, STATE, {"worker": INTAKE}) == before


@pytest.mark.parametrize("is_rehearsal", [True, False], ids=["while it rehearses", "at work"])
def test_a_second_that_is_cut_off_costs_nothing_but_its_work(
    admin: Connection, intake: Callable[[], HandoffIntake], monkeypatch: pytest.MonkeyPatch, *, is_rehearsal: bool
) -> None:
    admin.execute(CHANGES)
    before, plain, cut = seen(admin), batch.apply, list[int]()

    def apply(connection: Connection, asked: Ask) -> Applied:
        applied = plain(connection, asked)
        if connection is not admin and (asked.given["tids"] == "{}") == is_rehearsal and not cut:
            cut.append(connection.info.backend_pid)
            admin_too = connect(admin.info.dsn)
            admin_too.execute("SELECT pg_terminate_backend(%s, 5000)", (cut[0],))
            admin_too.close()
        return applied

    monkeypatch.setattr(batch, "apply", apply)
    inventory.until_idle(intake())
    assert cut
    assert seen(admin) - before == 60
    assert wrong(admin) == []


def test_facts_that_nobody_has_met_are_learned_before_their_rows_are_applied(
    admin: Connection, intake: Callable[[], HandoffIntake], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else comes by: no gate and no scan; and every candidate has the verdict of its new facts. They are many
    together, and in no part of what is read.
    """
    monkeypatch.setattr(ahead, "FEW", 50)
    admin.execute("UPDATE src SET status = 'new ' || id % 5")
    inventory.until_idle(intake())
    assert wrong(admin) == []
    written = "SELECT count(*) FILTER (WHERE dirty), count(DISTINCT facts_hash) FROM governance_candidate_state"
    assert one(admin, written) == (0, 5)


def test_what_cannot_be_learned_is_left_to_the_gate(
    admin: Connection, intake: Callable[[], HandoffIntake], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "FEW", 1)
    admin.execute("UPDATE src SET status = 'new ' || id % 5")
    walking = intake()

    def fail(connection: Connection, *_: object) -> int:
        connection.execute("SELECT 1 / 0")
        raise AssertionError("unreachable")

    monkeypatch.setattr(facts, "learn_at", fail)
    inventory.until_idle(walking)
    assert inventory.wrong(admin) == []
    assert one(admin, "SELECT count(*) FROM governance_candidate_state WHERE dirty") == (60,)
