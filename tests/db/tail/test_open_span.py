"""What the fast lane remembers: of a transaction all rows from the first to the last, and none that was not applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import inventory
from oneroof.database.connection import Connection, allow_preparing
from oneroof.database.statements import one
from oneroof.fence import lease
from oneroof.intake import newest_rows
from oneroof.intake.known import Glance
from oneroof.sources import registration
from oneroof.workers import handoff_intake
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.handoff_intake import HandoffIntake

SEEN = "SELECT events_seen FROM oneroof.gov_worker_cursor WHERE worker_name = 'gov_handoff_intake' AND source_name = %s"
SPANS = "SELECT count(*) FROM oneroof.governance_open_span"
# It fails when the second batch commits, once.
FAIL = """
CREATE SEQUENCE times; GRANT USAGE ON SEQUENCE times TO PUBLIC;
CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('public.times') = 2 THEN RAISE EXCEPTION 'now' USING ERRCODE = '{code}'; END IF; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER fail_once AFTER INSERT OR UPDATE ON oneroof.governance_open_span DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION fail_once()"""


def fast_lane(connection: Connection, name: str, *, batch: int) -> HandoffIntake:
    """An intake whose frontier rests."""
    allow_preparing(connection)
    held = lease.claim(connection, f"{handoff_intake.NAME}:{name}", instance="test", ttl=3600)
    return HandoffIntake(connection, registration.find(connection, name), held, batch=batch, sweep_interval=3600)


def walk(connection: Connection, intake: HandoffIntake) -> None:
    """The same by the frontier alone: an heir that knows nothing but what is remembered."""
    inventory.settle(connection)
    again = HandoffIntake(connection, intake.source, intake.lease, batch=intake.batch, at_once=True)
    inventory.until_idle(again)


def test_a_transaction_is_remembered_once_however_many_batches_it_takes(admin: Connection) -> None:
    """Twelve rows in three batches of one pass are one span; the frontier applies and counts none of them again."""
    tailed = inventory.make(admin)
    inventory.sweep(admin, tailed)
    intake = fast_lane(admin, "src", batch=5)
    intake.run_once()
    admin.execute("INSERT INTO src SELECT n, now(), 'c' || n FROM generate_series(1, 12) AS n")
    inventory.until_idle(intake)
    assert (one(admin, SEEN, ("src",)), one(admin, SPANS)) == ((12,), (1,))
    walk(admin, intake)
    assert one(admin, SEEN, ("src",)) == (12,)
    assert inventory.wrong(admin) == []
    assert one(admin, "SELECT count(*) FROM oneroof.governance_candidate_state WHERE change_number > 1") == (0,)


def test_what_the_fast_lane_meets_while_the_walk_is_under_way_is_applied_once(admin: Connection) -> None:
    """The walk has begun with older rows; newer ones are met by both, and count once."""
    tailed = inventory.make(admin)
    inventory.sweep(admin, tailed)
    admin.execute("INSERT INTO src SELECT n, now() - interval '1 day', 'old' || n FROM generate_series(1, 12) AS n")
    inventory.settle(admin)
    held = lease.claim(admin, f"{handoff_intake.NAME}:src", instance="test", ttl=3600)
    intake = HandoffIntake(admin, tailed, held, batch=5, at_once=True)
    intake.run_once()
    while not one(admin, SEEN, ("src",))[0]:
        intake.run_once()
    assert one(admin, SEEN, ("src",))[0] < 12
    admin.execute("INSERT INTO src SELECT n, now(), 'new' || n FROM generate_series(101, 104) AS n")
    inventory.until_idle(intake)
    assert one(admin, SEEN, ("src",)) == (16,)
    assert inventory.wrong(admin) == []


def interrupted(admin: Connection, *, code: str) -> list[str]:
    """What is missing or twice after the second batch of a pass was not kept."""
    tailed = inventory.make(admin)
    inventory.sweep(admin, tailed)
    intake = fast_lane(admin, "src", batch=5)
    intake.run_once()
    admin.execute(FAIL.format(code=code))
    admin.execute("INSERT INTO src SELECT n, now(), 'c' || n FROM generate_series(1, 12) AS n")
    inventory.until_idle(intake)
    walk(admin, intake)
    (counted,) = one(admin, SEEN, ("src",))
    (failed,) = one(admin, "SELECT count(*) FROM oneroof.governance_retry")
    return [*inventory.wrong(admin), *([f"{counted} counted"] if counted != 12 else []), *["failed"] * failed]


@pytest.mark.parametrize("code", ["40001", "57014"])
def test_a_batch_that_was_not_kept_is_in_no_span(admin: Connection, code: str) -> None:
    """The second of three batches of one transaction fails at its commit, and is repeated or narrowed."""
    assert interrupted(admin, code=code) == []


def test_mutant_that_goes_on_behind_a_batch_that_was_not_kept_loses_it(
    admin: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def itself(given: Any) -> Any:
        return given

    monkeypatch.setattr(newest_rows, "copy", itself)
    monkeypatch.setattr(Glance, "in_doubt", lambda self: self)
    assert interrupted(admin, code="40001") != []


def test_rows_of_ours_between_those_of_others_are_counted_by_the_frontier(admin: Connection) -> None:
    """One transaction writes a row of the host's, one of ours, one of the host's: the fast lane passes ours over."""
    inventory.settle(admin)
    intake = fast_lane(admin, "registry_changelog", batch=5)
    intake.run_once()
    (before,) = one(admin, SEEN, ("registry_changelog",))
    admin.execute(
        'INSERT INTO registry_changelog (entity_type, entity_code, action, "timestamp")'
        " SELECT kind, 'x' || n, 'update', now() FROM unnest(ARRAY['host', 'oneroof.test', 'host'])"
        " WITH ORDINALITY AS k (kind, n)"
    )
    inventory.until_idle(intake)
    assert (one(admin, SEEN, ("registry_changelog",)), one(admin, SPANS)) == ((before + 2,), (1,))
    walk(admin, intake)
    assert one(admin, SEEN, ("registry_changelog",))[0] >= before + 3
    (own,) = one(
        admin,
        "SELECT (last_run_summary ->> 'own')::int FROM oneroof.gov_worker_cursor"
        " WHERE worker_name = 'gov_handoff_intake' AND source_name = 'registry_changelog'",
    )
    assert own >= 1


@pytest.mark.parametrize(
    ("columns", "key", "values"),
    [
        ("a int, b text, PRIMARY KEY (a, b)", ["a", "b"], lambda n: (n, "x" * (n % 3))),
        ('a text COLLATE "C" PRIMARY KEY, b int', ["a"], lambda n: (f"K{n}", n)),
        ("a bigint PRIMARY KEY, b int", ["a"], lambda n: (-n * 10**12, n)),
    ],
    ids=["composite", "text", "negative"],
)
def test_a_span_goes_by_the_type_of_the_key(
    admin: Connection, columns: str, key: list[str], values: Callable[[int], tuple[object, ...]]
) -> None:
    """Nine and ten, in the order of numbers and not of letters."""
    admin.execute(f'CREATE TABLE typed ({columns}, "when" timestamp)')
    admin.execute(f'CREATE INDEX ON typed ("when", {", ".join(key)})')
    registration.add(admin, "typed", key=key, timestamp="when")
    tailed = registration.find(admin, "typed")
    inventory.settle(admin)
    held = inventory.claim(admin, inventory.SWEEP, "typed")
    inventory.until_idle(BackfillSweep(admin, tailed, held, scope="typed"))
    intake = fast_lane(admin, "typed", batch=4)
    intake.run_once()
    with admin.transaction(), admin.cursor() as cursor:
        cursor.executemany("INSERT INTO typed VALUES (%s, %s, now())", [values(n) for n in range(1, 23)])
    inventory.until_idle(intake)
    assert (one(admin, SEEN, ("typed",)), one(admin, SPANS)) == ((22,), (1,))
    walk(admin, intake)
    assert one(admin, SEEN, ("typed",)) == (22,)


def test_a_source_with_another_order_is_not_misled_by_spans_of_the_old_one(admin: Connection) -> None:
    """Half of a transaction was met in the order of one column, and then the source goes by another, of another type:
    the other half is not taken for met.
    """
    admin.execute("CREATE TABLE turned (id int PRIMARY KEY, at timestamptz, day date, code text NOT NULL)")
    admin.execute("CREATE INDEX ON turned (at, id); CREATE INDEX ON turned (day, id)")
    added = registration.add(admin, "turned", key=["id"], timestamp="at", ref="code")
    inventory.settle(admin)
    sweep = BackfillSweep(admin, added, inventory.claim(admin, inventory.SWEEP, "turned"), scope="turned")
    inventory.until_idle(sweep)
    intake = fast_lane(admin, "turned", batch=5)
    intake.run_once()
    admin.execute(
        # The odd ones come first, and with them the first and the last of all in the order of the day.
        "INSERT INTO turned SELECT n, now() + (1 - n % 2) * interval '1 second', current_date, 'c' || n"
        " FROM generate_series(1, 9) AS n"
    )
    assert intake.run_once().seen == 5
    registration.add(admin, "turned", key=["id"], timestamp="day", ref="code")
    intake.source = registration.find(admin, "turned")
    walk(admin, intake)
    missing = (
        "SELECT count(*) FROM turned WHERE NOT EXISTS (SELECT FROM oneroof.governance_candidate_state"
        " WHERE source_key = id::text AND source_name = 'turned')"
    )
    assert one(admin, missing) == (0,)
