"""What is untold is told by one statement where that is all it takes, else the long way: the same, and once."""

from __future__ import annotations

from typing import Any

import pytest

import judging
from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.fence.lease import claim, executor_name, release
from oneroof.workers import handoff_intake
from oneroof.workers.handoff_intake import HandoffIntake
from telling import bear, hand_off, signals, swept

TELL = "SELECT oneroof.gov_objects_emit('birth_registry', 1, false)"
SEND = (
    "SELECT oneroof.gov_untold_send('birth_registry', 'birth_registry', ARRAY(SELECT untold_id FROM"
    " oneroof.governance_untold))"
)
LONG_WAY = (
    "CREATE OR REPLACE FUNCTION oneroof.gov_untold_send(p_source text, p_table text, p_ids bigint[]) RETURNS boolean"
    " LANGUAGE sql AS 'SELECT false'"
)
HOLD = (
    "INSERT INTO oneroof.governance_event (event_id, event_type, state, payload, noted_at)"
    " VALUES (gen_random_uuid(), 'governance.handoff.object_registered', 'held', '{}', now())"
)
# But for when it was written.
WRITTEN = (
    "SELECT to_jsonb(o) - 'created_at', o.event_subject_ref, o.safe_payload, g.state, g.content_sha256, g.event_type,"
    " g.payload, g.held_batch FROM event_outbox AS o JOIN oneroof.governance_event AS g ON g.event_id = o.id"
    " WHERE o.event_domain = 'governance' AND o.event_stream = 'governance.handoff' ORDER BY o.created_at"
)


def ready(logins: Logins) -> Connection:
    logins.activate("governance.handoff.*")
    swept(logins.admin)
    return logins.admin


def tried(admin: Connection, *statements: str) -> list[tuple[Any, ...]]:
    """What is written by these, which are then undone."""
    with admin.transaction(force_rollback=True):
        for statement in statements:
            admin.execute(statement)
        return admin.execute(WRITTEN).fetchall()


def test_both_ways_say_the_same(logins: Logins) -> None:
    """Births of several classes, times and none; a change; and two batches at once."""
    admin = ready(logins)
    admin.execute(
        "INSERT INTO birth_registry (collection_name, entity_code, born_at, source_system, actor_ref, species_code)"
        " VALUES ('things', 'T-1', now(), 'loader', 'me', NULL), ('things', 'T-3', 'infinity', 'loader', 'me', 's'),"
        " ('Dinge', 'Ü-2', '2026-01-02 03:04:05.6+07', 'x', 'them', '<&>'), ('things', 'T-4', NULL, 'x', 'me', '')"
    )
    hand_off(admin)
    admin.execute("UPDATE birth_registry SET certified = true WHERE entity_code = 'T-1'")
    hand_off(admin)
    tell = "SELECT oneroof.gov_objects_emit('birth_registry', 100, false)"
    short, long = tried(admin, tell), tried(admin, LONG_WAY, tell)
    assert len(short) == 5
    assert short == long
    admin.execute(tell)
    assert one(admin, "SELECT count(*) FROM oneroof.v_event_foreign") == (0,)


@pytest.mark.parametrize(
    "of_class",
    ['a "quoted" class', "back\\slash", "a\ttab", "c" * 300, "\U0001f600" * 250],
    ids=["quote", "backslash", "tab", "long", "wide"],
)
def test_what_has_to_be_escaped_shortened_or_refused_goes_the_long_way(logins: Logins, of_class: str) -> None:
    """And what goes with it in one batch is told all the same."""
    admin = ready(logins)
    bear(admin, 2, 3)
    admin.execute(
        "INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES (%s, 'T', now())", (of_class,)
    )
    hand_off(admin)
    assert one(admin, SEND) == (False,)
    assert signals(admin) == []
    while one(admin, TELL) != (0,):
        pass
    assert {ref for *_, ref, _ in signals(admin)} - {f"{of_class}:T"} == {"things:T-2", "things:T-3"}
    assert one(admin, "SELECT count(*) FROM oneroof.v_event_foreign") == (0,)


def test_what_is_known_may_not_be_said_or_must_wait_goes_the_long_way(logins: Logins) -> None:
    """Told before; of a source that is not trusted; of a type that is not active; after something that is held."""
    admin = ready(logins)
    bear(admin, 1, 3)
    hand_off(admin)
    kept = "CREATE TEMP TABLE kept AS SELECT * FROM oneroof.governance_untold"
    admin.execute(kept)
    assert one(admin, TELL) == (3,)
    columns = "source_name, many, kinds, classes, groups, systems, actors, places, keys, numbers, refs, times"
    admin.execute(f"INSERT INTO oneroof.governance_untold ({columns}) SELECT {columns} FROM kept")
    assert one(admin, SEND) == (False,)
    assert len(signals(admin)) == 3
    admin.execute("DELETE FROM oneroof.governance_event; DELETE FROM event_outbox WHERE event_domain = 'governance'")
    for reason in (
        "UPDATE oneroof.governance_source SET trusted_at = NULL WHERE source_name = 'birth_registry'",
        "UPDATE event_type_registry SET active = false WHERE event_type = 'governance.handoff.object_born'",
        HOLD,
    ):
        with admin.transaction(force_rollback=True):
            admin.execute(reason)
            assert one(admin, SEND) == (False,), reason
    assert one(admin, SEND) == (True,)
    assert len(signals(admin)) == 3


def test_what_is_untold_is_told_in_order_by_one_at_a_time(logins: Logins) -> None:
    """Two changes of one object in two batches: whoever comes second while the first is at it leaves it alone."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    swept(admin)
    tailed = judging.births(admin)
    held = claim(admin, executor_name(handoff_intake.NAME, "birth_registry"), instance="here", ttl=3600)
    intake = HandoffIntake(admin, tailed, held, sweep_interval=0)
    for change in ("born", "changed"):
        if change == "born":
            bear(admin, 1, 1)
        else:
            admin.execute("UPDATE birth_registry SET certified = true WHERE entity_code = 'T-1'")
        closed = intake.windows_closed
        while intake.windows_closed < closed + 2:
            intake.run_once()
    assert one(admin, "SELECT count(*) FROM oneroof.governance_untold") == (2,)
    assert signals(admin) == []
    with logins.worker.transaction():
        assert one(logins.worker, TELL) == (1,)
        assert one(admin, TELL) == (0,)
    assert one(admin, TELL) == (1,)
    assert [said["change_number"] for *_, said in signals(admin)] == [1, 2]
    assert one(admin, TELL) == (0,)
    release(admin, held)


@pytest.mark.parametrize("is_analysed", [False, True], ids=["not analysed", "analysed"])
def test_of_many_that_are_held_few_are_read_to_find_out_what_may_be_emitted(logins: Logins, is_analysed: bool) -> None:
    """Whether the planner takes the table for empty, or knows that there is but one type in it."""
    admin = ready(logins)
    admin.execute("ALTER TABLE oneroof.governance_event SET (autovacuum_enabled = off)")
    admin.execute(
        "INSERT INTO oneroof.governance_event (event_id, event_type, state, subject, subject_table, subject_ref,"
        " canonical_address, payload, held_batch, held_place, noted_at)"
        " SELECT gen_random_uuid(), 'governance.coverage.orphan', 'held', n::text, 't', n, 't:' || n, '{}', 1, n, now()"
        " FROM generate_series(1, 20000) AS n"
    )
    if is_analysed:
        admin.execute("ANALYZE oneroof.governance_event")
    bear(admin, 1, 2)
    hand_off(admin)
    promote = "SELECT oneroof.gov_events_promote(NULL, 100)"
    for most, asked in (
        (100, "SELECT oneroof.gov_events_promotable()"),
        (100, TELL),
        (100, promote),
        (21_000, queries("signals/event_types")["listing"]),
        (
            400,
            "UPDATE event_type_registry SET active = true WHERE event_type = 'governance.coverage.orphan'; " + promote,
        ),
    ):
        # What an earlier transaction has read counts until it is reported.
        admin.execute("SELECT pg_stat_force_next_flush()")
        with admin.transaction():
            admin.execute(asked)
            (read,) = one(
                admin,
                "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables"
                " WHERE relname = 'governance_event'",
            )
        assert read <= most, (asked, read)
    left = (
        "SELECT count(*) FROM oneroof.governance_event WHERE state = 'held' AND event_type ="
        " 'governance.coverage.orphan'"
    )
    assert one(admin, left) == (19_900,)
