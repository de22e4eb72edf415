"""Failed items: bisected out of their batch, tried again, dead after the last attempt, never lost (promise 10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bed import connect, stop_clock
from inventory import settle
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError, Refused
from oneroof.failures import error_kinds, failed_items
from oneroof.fence import lease
from oneroof.runtime.watch import watch
from oneroof.sources import registration
from oneroof.workers import backfill_sweep, handoff_intake
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.handoff_intake import HandoffIntake

SWEEP, INTAKE = backfill_sweep.NAME, handoff_intake.NAME
# Longer than an index row may be, and of a kind that does not compress.
LONG = "(SELECT string_agg(md5(n::text || {salt}), '') FROM generate_series(1, 300) AS n)"


@pytest.fixture
def admin(installed_database: str) -> Iterator[Connection]:
    with connect(installed_database) as connection:
        # The estate's own index would not take the poison.
        connection.execute("DROP INDEX birth_registry_collection_entity")
        connection.execute(
            "UPDATE oneroof.governance_worker_policy SET attempts = 3, backoff_first = '10 s', lease_ttl = '1 h'"
        )
        yield connection


def poison(connection: Connection, *, salt: str = "'x'") -> str:
    """A birth that no candidate can be made of; its key."""
    code = LONG.format(salt=salt)
    (key,) = one(
        connection,
        f"INSERT INTO birth_registry (collection_name, entity_code, born_at)"
        f" VALUES ('bad', {code}, '2026-04-01'::timestamptz) RETURNING id::text",
    )
    return str(key)


def sweeper(connection: Connection, *, batch: int = 500) -> BackfillSweep:
    settle(connection)
    held = lease.claim(connection, f"{SWEEP}:birth_registry", instance="test", ttl=3600)
    return BackfillSweep(connection, registration.find(connection, "birth_registry"), held, batch=batch)


def run_out(worker: BackfillSweep | HandoffIntake) -> int:
    """Run until there is nothing to do; how many steps that took."""
    steps = 0
    while not worker.run_once().idle:
        steps += 1
    return steps


def item_of(connection: Connection) -> dict[str, Any]:
    row = one(connection, "SELECT to_jsonb(r) FROM oneroof.governance_retry AS r")
    return dict(row[0])


def findings(connection: Connection) -> set[str]:
    rows = connection.execute(
        "SELECT issue_type FROM system_issues WHERE source_system = 'oneroof' AND resolved_at IS NULL"
    )
    return {name for (name,) in rows}


def accounts(connection: Connection, worker: str) -> tuple[int, int, int]:
    """Seen; candidates and duplicates that stand for what is done; waiting and dead."""
    row = one(
        connection,
        """SELECT (SELECT sum(events_seen) FROM oneroof.gov_worker_cursor WHERE worker_name = %(worker)s),
                  (SELECT count(*) FROM birth_registry AS b WHERE EXISTS (SELECT FROM
                  oneroof.governance_candidate_state AS c
                     WHERE c.candidate_key = b.collection_name || ':' || b.entity_code)),
                  (SELECT count(*) FROM oneroof.governance_retry
                   WHERE worker_name = %(worker)s AND state IN ('waiting', 'dead'))""",
        {"worker": worker},
    )
    return int(row[0]), row[1], row[2]


def test_a_poison_row_leaves_its_batch_and_the_rest_goes_on(admin: Connection) -> None:
    """The window closes, everything else has a candidate, and done + waiting + dead = seen."""
    stop_clock(admin, seconds=0)
    key = poison(admin)
    (rows,) = one(admin, "SELECT count(*) FROM birth_registry")
    steps = run_out(sweeper(admin))
    assert accounts(admin, SWEEP) == (rows, rows - 1, 1)
    assert steps < rows / 500 + 4 * 9  # log₂ 500 halvings, and as many to grow again
    item = item_of(admin)
    assert (item["state"], item["attempts"], item["source_key"]) == ("waiting", 1, key)
    pending = one(admin, "SELECT entity_table, entity_ref, error_count, last_error, processed_at FROM event_pending")
    assert pending[:3] == ("birth_registry", key, 1)
    assert "candidate_key_is_short" in pending[3]
    assert pending[4] is None


def test_many_poison_rows_cost_log_n_each(admin: Connection) -> None:
    """Five in one batch."""
    for i in range(5):
        poison(admin, salt=f"'{i}'")
    (rows,) = one(admin, "SELECT count(*) FROM birth_registry")
    steps = run_out(sweeper(admin, batch=1000))
    assert accounts(admin, SWEEP) == (rows, rows - 5, 5)
    assert steps < rows / 1000 + 5 * 2 * 11


def test_doc39_10_4_dlq_not_drop(admin: Connection) -> None:
    """After N attempts with back-off a dead letter, counted once, with its findings; visible, not lost."""
    stop_clock(admin, seconds=0)
    poison(admin)
    worker = sweeper(admin)
    run_out(worker)
    assert worker.run_once().idle, "not due yet"
    for attempt in (2, 3):
        stop_clock(admin, seconds=attempt * 600)
        run_out(worker)
        assert item_of(admin)["attempts"] == attempt
    assert item_of(admin)["state"] == "dead"
    assert one(admin, "SELECT dead_lettered FROM oneroof.gov_worker_cursor") == (1,)
    assert {"cursor_dlq", "backfill_batch_failed"} <= findings(admin)
    staged = "SELECT error_count, event_type_hint FROM event_pending WHERE error_count > 0"
    assert one(admin, staged) == (3, "cursor_dlq")
    stop_clock(admin, seconds=10_000)
    assert worker.run_once().idle, "the dead are not tried again by themselves"


def test_the_back_off_doubles_with_jitter_and_is_bounded(admin: Connection) -> None:
    """Between half of and the whole of min(most, first * 2^n)."""
    admin.execute("UPDATE oneroof.governance_worker_policy SET attempts = 9, backoff_most = '60 s'")
    stop_clock(admin, seconds=0)
    poison(admin)
    worker = sweeper(admin)
    for attempt, most in enumerate((10, 20, 40, 60, 60), 1):
        stop_clock(admin, seconds=attempt * 600)
        run_out(worker)
        (wait,) = one(
            admin,
            "SELECT extract(epoch FROM next_attempt_at - oneroof.gov_now())::float8 FROM oneroof.governance_retry",
        )
        assert most / 2 <= wait <= most


def test_a_replayed_dead_letter_that_was_mended_is_done(admin: Connection) -> None:
    """Nothing is deleted; the candidate is there; the finding closes with the next look."""
    admin.execute("UPDATE oneroof.governance_worker_policy SET attempts = 1")
    key = poison(admin)
    worker = sweeper(admin)
    run_out(worker)
    item = item_of(admin)
    assert item["state"] == "dead"
    admin.execute("UPDATE birth_registry SET entity_code = 'mended' WHERE id = %s", (key,))
    assert failed_items.replay(admin, [item["item_id"]]) == 1
    run_out(worker)
    assert item_of(admin)["state"] == "done"
    (processed,) = one(admin, "SELECT processed_at IS NOT NULL FROM event_pending WHERE error_count > 0")
    assert processed
    assert one(admin, "SELECT count(*) FROM oneroof.governance_candidate_state WHERE candidate_key = 'bad:mended'") == (
        1,
    )
    assert one(admin, "SELECT dead_lettered FROM oneroof.gov_worker_cursor") == (1,)


def test_a_replayed_dead_letter_that_fails_again_is_dead_and_counted_once(admin: Connection) -> None:
    """One more attempt is one."""
    admin.execute("UPDATE oneroof.governance_worker_policy SET attempts = 1")
    poison(admin)
    worker = sweeper(admin)
    run_out(worker)
    failed_items.replay(admin, [item_of(admin)["item_id"]])
    run_out(worker)
    assert (item_of(admin)["state"], item_of(admin)["attempts"]) == ("dead", 2)
    assert one(admin, "SELECT dead_lettered FROM oneroof.gov_worker_cursor") == (1,)


def test_resolve_wants_a_reason_and_keeps_the_row(admin: Connection) -> None:
    """Who and why stay with it."""
    admin.execute("UPDATE oneroof.governance_worker_policy SET attempts = 1")
    poison(admin)
    run_out(sweeper(admin))
    number = item_of(admin)["item_id"]
    with pytest.raises(Refused, match="with a reason"):
        failed_items.resolve(admin, [number], reason=" ")
    assert failed_items.resolve(admin, [number], reason="known") == 1
    item = item_of(admin)
    assert (item["state"], item["resolution"], item["resolved_by"]) == ("resolved", "known", "postgres")
    assert failed_items.resolve(admin, [number], reason="again") == 0


def test_more_dead_letters_than_allowed_is_a_finding_of_its_own(admin: Connection) -> None:
    """Over the limit, not at it."""
    admin.execute("UPDATE oneroof.governance_worker_policy SET attempts = 1, dlq_limit = 2")
    worker = sweeper(admin)
    for i in range(2):
        poison(admin, salt=f"'{i}'")
    run_out(worker)
    assert "backfill_dlq_overflow" not in findings(admin)
    admin.execute("UPDATE oneroof.governance_worker_policy SET dlq_limit = 1")
    failed_items.replay(admin, [i for (i,) in admin.execute("SELECT item_id FROM oneroof.governance_retry").fetchall()])
    run_out(worker)
    assert "backfill_dlq_overflow" in findings(admin)
    watch(admin)
    assert {"cursor_dlq", "backfill_batch_failed", "backfill_dlq_overflow"} <= findings(admin)
    items = [i for (i,) in admin.execute("SELECT item_id FROM oneroof.governance_retry").fetchall()]
    failed_items.resolve(admin, items[:1], reason="known")
    watch(admin)
    # The estate has classes without a registry, and the signals of it are of types that are not active.
    of_the_estate = {"backfill_inventory_gap", "issue_event_gap"}
    assert findings(admin) - of_the_estate == {"cursor_dlq", "backfill_batch_failed"}
    failed_items.resolve(admin, items, reason="known")
    watch(admin)
    assert findings(admin) == of_the_estate


@pytest.mark.parametrize("lane", ["fast", "frontier"])
def test_both_lanes_of_the_intake_put_poison_aside(admin: Connection, lane: str) -> None:
    """New births, one of them poison, by timestamp and by the frontier alone: each once, each accounted."""
    run_out(sweeper(admin))
    held = lease.claim(admin, f"{INTAKE}:birth_registry", instance="test", ttl=3600)
    intake = HandoffIntake(admin, registration.find(admin, "birth_registry"), held, batch=64, sweep_interval=0)
    intake.run_once()
    stamp = "now()" if lane == "fast" else "'2026-01-01'::timestamptz"
    admin.execute(
        f"INSERT INTO birth_registry (collection_name, entity_code, born_at)"
        f" SELECT 'new', CASE n WHEN 30 THEN {LONG.format(salt=repr('y'))} ELSE n::text END, {stamp}"
        f" FROM generate_series(1, 50) AS n"
    )
    (target,) = one(admin, "SELECT pg_current_xact_id()::text::bigint")
    frontier = "SELECT frontier::text::bigint > %s FROM oneroof.gov_worker_cursor WHERE worker_name = %s"
    for _ in range(2000):
        intake.run_once()
        if one(admin, frontier, (target, INTAKE))[0]:
            break
    (seen,) = one(admin, "SELECT events_seen FROM oneroof.gov_worker_cursor WHERE worker_name = %s", (INTAKE,))
    assert seen == 50
    born = "SELECT count(*) FROM oneroof.governance_candidate_state WHERE candidate_key LIKE 'new:%'"
    assert one(admin, born) == (49,)
    assert item_of(admin)["worker_name"] == INTAKE


def test_a_source_that_cannot_be_read_is_no_poison(admin: Connection) -> None:
    """A column that is gone is nobody's item: the error comes out, and nothing is staged."""
    worker = sweeper(admin)
    worker.run_once()
    admin.execute("ALTER TABLE birth_registry RENAME COLUMN entity_code TO other")
    with pytest.raises(OneroofError) as caught:
        run_out(worker)
    assert error_kinds.kind_of(caught.value) == error_kinds.SICK
    assert one(admin, "SELECT count(*) FROM oneroof.governance_retry") == (0,)


def test_an_item_whose_row_is_gone_is_over(admin: Connection) -> None:
    """There is nothing left to do for it."""
    stop_clock(admin, seconds=0)
    key = poison(admin)
    worker = sweeper(admin)
    run_out(worker)
    admin.execute("DELETE FROM birth_registry WHERE id = %s", (key,))
    stop_clock(admin, seconds=600)
    run_out(worker)
    assert item_of(admin)["state"] == "done"


def test_workers_and_readers_cannot_write_dead_letters_themselves(admin: Connection) -> None:
    """Only through the functions."""
    for statement in ("DELETE FROM oneroof.governance_retry", "UPDATE oneroof.governance_retry SET state = 'done'"):
        for role in ("oneroof_worker", "oneroof_operator"):
            with pytest.raises(Refused), transaction(admin, doing="trying", role=role):
                admin.execute(statement)


def test_a_long_key_is_marked_and_never_mistaken_for_a_short_one(admin: Connection) -> None:
    """The mark of a long key is not a key that somebody could have."""
    (mark, same, short) = one(
        admin,
        "SELECT oneroof.gov_key_mark(repeat('k', 600)), oneroof.gov_key_mark(oneroof.gov_key_mark(repeat('k',"
        " 600))), oneroof.gov_key_mark('k')",
    )
    assert short == "k"
    assert len(mark) > 500
    assert same != mark
