"""Policies: data that an operator changes, checked by the database, each change on record."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import time

import pytest

from bed import as_user, connect
from oneroof.database.connection import Connection
from oneroof.errors import Refused, Usage
from oneroof.runtime import policy

WORKER = "gov_backfill_sweep"


@pytest.fixture
def operator(installed_database: str) -> Iterator[Connection]:
    with connect(as_user(installed_database, "viewer")) as connection:
        yield connection


def audit(connection: Connection) -> list[tuple[str, str, str]]:
    """Our audit rows of workers and policies, in order."""
    return connection.execute(
        "SELECT entity_type, entity_code, action FROM registry_changelog"
        " WHERE entity_type IN ('oneroof.worker', 'oneroof.policy') ORDER BY id"
    ).fetchall()


def test_a_policy_has_every_column_of_the_table(admin: Connection) -> None:
    """Intervals are seconds; nobody forgets a column that is added."""
    columns = admin.execute(
        "SELECT attname::text FROM pg_attribute"
        " WHERE attrelid = 'oneroof.governance_worker_policy'::regclass AND attnum > 0 AND NOT attisdropped ORDER"
        " BY attnum"
    ).fetchall()
    assert [name for (name,) in columns] == [field.name for field in dataclasses.fields(policy.Policy)]
    found = policy.read(admin)[WORKER]
    assert (found.batch_size, found.sweep_interval, found.lease_ttl, found.lag_limit) == (5000, 10.0, 30.0, 300.0)
    assert (found.rows_per_second, found.off_peak_from, found.is_paused) == (None, None, False)


def test_setting_values_changes_them_for_all_and_says_so_once(operator: Connection, admin: Connection) -> None:
    """Text in the database's own words; the same again changes nothing and leaves no audit row."""
    values = {"batch_size": "2000", "lag_limit": "10 minutes", "off_peak_from": "22:00", "off_peak_to": "24:00"}
    assert policy.set_values(operator, WORKER, values) is True
    assert policy.set_values(operator, WORKER, values) is False
    found = policy.read(operator)
    assert (found[WORKER].batch_size, found[WORKER].lag_limit) == (2000, 600.0)
    assert (found[WORKER].off_peak_from, found[WORKER].off_peak_to) == (time(22), time(0))
    assert found["gov_handoff_intake"].batch_size == 5000
    said = "set batch_size=2000 lag_limit=00:10:00 off_peak_from=22:00:00 off_peak_to=24:00:00 by viewer"
    assert audit(admin) == [("oneroof.policy", WORKER, said)]
    assert policy.set_values(operator, WORKER, {"off_peak_from": "", "off_peak_to": ""}) is True
    assert policy.read(operator)[WORKER].off_peak_from is None


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"batch_size": "0"}, "this must hold: .*batch_size >= 1"),
        ({"batch_size": "many"}, "batch_size cannot be many: invalid input syntax for type bigint"),
        ({"batch_size": "99999999999999999999"}, "batch_size cannot be 9*: .*out of range"),
        ({"batch_size": ""}, "batch_size cannot be empty"),
        ({"off_peak_from": "22:00"}, "this must hold: .*off_peak_from IS NULL"),
        ({"off_peak_from": "25:00", "off_peak_to": "6:00"}, "off_peak_from cannot be 25:00"),
        ({"lease_ttl": "0 s"}, "this must hold: .*lease_ttl >="),
        ({"backoff_first": "1 hour"}, "this must hold: .*backoff_most >= backoff_first"),
    ],
)
def test_a_wrong_value_is_one_sentence_and_changes_nothing(
    operator: Connection, admin: Connection, values: dict[str, str], sentence: str
) -> None:
    """The table's own CHECK decides; what stood beside the wrong one is not set either."""
    before = policy.read(operator)
    with pytest.raises(Usage, match=sentence) as wrong:
        policy.set_values(operator, WORKER, {"attempts": "7", **values})
    assert "\n" not in str(wrong.value)
    assert policy.read(operator) == before
    assert audit(admin) == []


@pytest.mark.parametrize("name", ["batchsize", "paused_at", "worker_name", "nonsense", ""])
def test_an_unknown_name_is_wrong_usage(operator: Connection, name: str) -> None:
    """With what was probably meant; pausing has a command of its own."""
    with pytest.raises(Usage, match="that could be set") as wrong:
        policy.set_values(operator, WORKER, {name: "1"})
    assert wrong.value.hint is not None
    assert (wrong.value.hint == "did you mean batch_size?") == (name == "batchsize")


def test_the_database_itself_refuses_what_is_not_a_setting(admin: Connection) -> None:
    """Whoever calls the function directly can neither rename a worker nor pause it by the back door."""
    for name in ("worker_name", "paused_by", "nonsense"):
        with pytest.raises(Exception, match="has no"):
            admin.execute("SELECT oneroof.gov_policy_set(%s, jsonb_build_object(%s::text, 'x'))", (WORKER, name))


def test_pause_and_resume_are_idempotent_and_on_record(operator: Connection, admin: Connection) -> None:
    """Who, and since when, by the login that authenticated; twice is once."""
    assert policy.resume(operator, WORKER) is False
    assert policy.pause(operator, WORKER) is True
    paused = policy.read(operator)[WORKER]
    assert (paused.is_paused, paused.paused_by) == (True, "viewer")
    assert policy.pause(admin, WORKER) is False
    assert policy.read(operator)[WORKER] == paused
    assert policy.resume(admin, WORKER) is True
    resumed = policy.read(operator)[WORKER]
    assert (resumed.paused_at, resumed.paused_by) == (None, None)
    assert audit(admin) == [
        ("oneroof.worker", WORKER, "pause by viewer"),
        ("oneroof.worker", WORKER, "resume by postgres"),
    ]


def test_who_is_no_operator_changes_nothing(installed_database: str, admin: Connection) -> None:
    """Neither a worker's login nor a login of the host alone; and nobody pauses a worker that is not there."""
    admin.execute("DROP ROLE IF EXISTS policy_stranger")
    admin.execute("CREATE ROLE policy_stranger LOGIN")
    with connect(as_user(installed_database, "policy_stranger")) as stranger:
        with pytest.raises(Refused, match="permission denied"):
            policy.pause(stranger, WORKER)
        with pytest.raises(Refused, match="permission denied"):
            policy.set_values(stranger, WORKER, {"attempts": "9"})
    with pytest.raises(Refused, match="there is no worker 'gov_nobody'"):
        policy.pause(admin, "gov_nobody")
    with pytest.raises(Refused, match="there is no worker 'gov_nobody'"):
        policy.set_values(admin, "gov_nobody", {"attempts": "9"})
    admin.execute("DROP ROLE policy_stranger")
    assert not policy.read(admin)[WORKER].is_paused
