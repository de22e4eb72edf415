"""The handoff: which change is of which kind, what it marks, and that nothing is handed off twice (doc 32 §3 to §7)."""

from __future__ import annotations

import pytest

import judging
from inventory import settle
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.findings import store
from oneroof.sources import registration, source

WINDOWS = "SELECT change_kind, class, changes FROM oneroof.governance_handoff ORDER BY 1, 2, window_start"
MARKS = "SELECT class, dirty_reason, changes FROM oneroof.governance_group_mark WHERE dirty ORDER BY 1"
LOGGED = "INSERT INTO registry_changelog (entity_type, entity_code, action, source_kind) VALUES ('{}', '{}', '{}', {})"
LOGGED_OF = (
    "INSERT INTO registry_changelog (entity_type, entity_code, action)"
    " SELECT 'collection', code, 'update' FROM collection_registry WHERE collection_name = '{collection}'"
)
APPROVED = (
    "INSERT INTO approval_requests (request_kind, subject, requested_by, status)"
    " VALUES ('{}', 's', 'somebody', 'approved')"
)
OWNED = (
    "INSERT INTO oneroof.governance_object_ownership (level, subject, responsibility, owner_ref, valid_from,"
    " recorded_by,"
    " recorded_at) VALUES ('collection', 'contracts', 'policy', 'GOV-COUNCIL', now(), 'requester', now())"
)
EXCUSED = (
    "INSERT INTO oneroof.governance_exception (level, subject, reason, valid_from, requested_by, requested_at)"
    " VALUES ('collection', 'contracts', 'why', now(), 'requester', now())"
)
# Every kind that change logs and registers hand off, from a change in each of its tail sources (doc 32 §3).
CHANGES = {
    "registered": ("registry_changelog", LOGGED.format("t", "x", "certify", "NULL"), "object_registered", "t"),
    "collection, logged": (
        "registry_changelog",
        LOGGED_OF,
        "collection_changed",
        "{collection}",
    ),
    "count of a collection": (
        "registry_changelog",
        LOGGED_OF.replace("update", "count_change"),
        "count_changed",
        "{collection}",
    ),
    "source of a collection": (
        "registry_changelog",
        LOGGED_OF.replace("action)", "action, migration_state)").replace("'update'", "'update', 'done'"),
        "source_changed",
        "{collection}",
    ),
    "retired collection": (
        "registry_changelog",
        LOGGED_OF.replace("update", "retire"),
        "object_retired",
        "{collection}",
    ),
    "collection, itself": (
        "collection_registry",
        "UPDATE collection_registry SET coverage_scope_status = 'FUTURE_SCOPE' WHERE collection_name = '{collection}'",
        "collection_changed",
        "{collection}",
    ),
    "count": ("registry_changelog", LOGGED.format("t", "x", "count_change", "NULL"), "count_changed", "t"),
    "retired": ("registry_changelog", LOGGED.format("t", "x", "retire", "NULL"), "object_retired", "t"),
    "superseded": ("registry_changelog", LOGGED.format("t", "x", "supersede", "NULL"), "object_retired", "t"),
    "source": ("registry_changelog", LOGGED.format("t", "x", "update", "'stream'"), "source_changed", "t"),
    "axis": (
        "pivot_definitions",
        "INSERT INTO pivot_definitions (code, name) VALUES ('new', 'New')",
        "axis_introduced",
        "*",
    ),
    "axis of law": (
        "law_jurisdiction",
        "INSERT INTO law_jurisdiction (code, title, classification) VALUES ('new', 'New', 'pivot')",
        "axis_introduced",
        "*",
    ),
    "norm": ("normative_registry", "UPDATE normative_registry SET version = version + 1", "policy_changed", "*"),
    "law": (
        "law_jurisdiction",
        "UPDATE law_jurisdiction SET title = title || '!' WHERE classification <> 'pivot'",
        "policy_changed",
        "*",
    ),
    "measurement": (
        "measurement_registry",
        "UPDATE measurement_registry SET enabled = NOT enabled",
        "policy_changed",
        "*",
    ),
    "policy, logged": ("registry_changelog", LOGGED.format("t", "x", "policy_change", "NULL"), "policy_changed", "t"),
    "owner, logged": ("registry_changelog", LOGGED.format("t", "x", "owner_change", "NULL"), "authority_changed", "t"),
    "owner": ("governance_object_ownership", OWNED, "authority_changed", "contracts"),
    "exception": (
        "governance_exception",
        EXCUSED,
        "authority_changed",
        "contracts",
    ),
    "approval": (
        "approval_requests",
        APPROVED.format("host.owner"),
        "authority_changed",
        "*",
    ),
    "ruleset": (
        "governance_ruleset",
        "UPDATE oneroof.governance_ruleset SET retired_at = now()",
        "ruleset_changed",
        "*",
    ),
}


def collection(admin: Connection) -> str:
    (name,) = one(admin, "SELECT collection_name FROM collection_registry ORDER BY collection_name LIMIT 1")
    return str(name)


def take(admin: Connection, name: str) -> None:
    judging.intake(admin, registration.find(admin, name))


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_in_its_tail_source_is_of_its_kind_and_marks_its_group_once(admin: Connection, what: str) -> None:
    """Nothing is handed off of what was there before; the change is, once, however often it is looked at."""
    name, change, kind, subject = (text.replace("{collection}", collection(admin)) for text in CHANGES[what])
    take(admin, name)
    assert admin.execute(WINDOWS).fetchall() == []
    admin.execute(change)
    take(admin, name)
    told = admin.execute(WINDOWS).fetchall()
    assert {(each, about) for each, about, _ in told} == {(kind, subject)}
    ((marked, reason, _),) = admin.execute(MARKS).fetchall()
    assert (marked, reason) == (subject, kind)
    take(admin, name)
    assert admin.execute(WINDOWS).fetchall() == told


def test_many_changes_of_a_group_are_one_mark_and_the_latest_names_it(admin: Connection) -> None:
    """Out of order, in several batches: the latest `occurred_at` wins."""
    take(admin, "registry_changelog")
    admin.execute(
        "INSERT INTO registry_changelog (entity_type, entity_code, action, timestamp) SELECT 't', 'c' || n, 'certify',"
        " date_trunc('second', now() AT TIME ZONE 'UTC') + make_interval(secs => mod(n * 7, 500) / 1000.0)"
        " FROM generate_series(1, 1200) AS n"
    )
    take(admin, "registry_changelog")
    ((kind, subject, changes, ref, latest),) = admin.execute(
        "SELECT change_kind, class, changes, ref, occurred_at = (SELECT max(timestamp) AT TIME ZONE 'UTC'"
        " FROM registry_changelog WHERE entity_type = 't') FROM oneroof.governance_handoff"
    ).fetchall()
    assert (kind, subject, changes, latest) == ("object_registered", "t", 1200, True)
    assert one(
        admin,
        "SELECT count(*) FROM registry_changelog WHERE entity_code = %s AND timestamp = (SELECT max(timestamp)"
        " FROM registry_changelog WHERE entity_type = 't')",
        (ref,),
    ) == (1,)
    assert admin.execute(MARKS).fetchall() == [("t", "object_registered", 1200)]


def test_a_register_row_that_is_written_again_as_it_was_is_no_change(admin: Connection) -> None:
    """A version with the same content changes nothing; one with another does, and back again does too."""
    take(admin, "normative_registry")
    admin.execute("UPDATE normative_registry SET title = title")
    take(admin, "normative_registry")
    assert admin.execute(WINDOWS).fetchall() == []
    (code,) = one(admin, "SELECT min(code) FROM normative_registry")
    for title in ("other", "this", "other"):
        admin.execute("UPDATE normative_registry SET title = %s WHERE code = %s", (title, code))
        take(admin, "normative_registry")
    assert one(admin, "SELECT sum(changes) FROM oneroof.governance_handoff") == (3,)


def test_our_own_rows_and_requests_start_no_work(admin: Connection) -> None:
    """Audit rows in the change log are counted; our requests are no authority of the host's."""
    for name in ("registry_changelog", "approval_requests"):
        take(admin, name)
    admin.execute("SELECT oneroof.gov_audit_note('x', 'y', 'z')")
    admin.execute(APPROVED.format("gate.open"))
    for name in ("registry_changelog", "approval_requests"):
        take(admin, name)
    assert admin.execute(WINDOWS).fetchall() == []
    assert admin.execute(MARKS).fetchall() == []


def test_a_mark_makes_its_class_be_judged_again_and_no_other(admin: Connection) -> None:
    """The scan takes marks, looks at what classes inherit, and judges the sets of facts of that class anew."""
    tailed = judging.births(admin)
    judging.sweep(admin, tailed)
    judging.judge(admin, tailed)
    take(admin, "registry_changelog")
    (name,) = one(admin, "SELECT class FROM oneroof.governance_fact_set GROUP BY 1 ORDER BY count(*) DESC LIMIT 1")
    judged = "SELECT count(*) FILTER (WHERE class = %s), count(*) FROM oneroof.governance_fact_set WHERE judged_at > %s"
    (before,) = one(admin, "SELECT clock_timestamp()")
    admin.execute(LOGGED.format(name, "x", "policy_change", "NULL"))
    take(admin, "registry_changelog")
    judging.judge(admin, tailed)
    members = one(admin, "SELECT count(*) FROM oneroof.governance_fact_set WHERE class = %s", (name,))[0]
    assert one(admin, judged, (name, before)) == (members, members)
    assert admin.execute(MARKS).fetchall() == []
    judging.check(admin)


def test_an_untrusted_source_is_captured_and_flagged_and_marks_nothing_until_two_people_trust_it(
    admin: Connection,
) -> None:
    """Doc 32 §7: it cannot silently inject governance work."""
    admin.execute("UPDATE oneroof.governance_source SET trusted_at = NULL WHERE source_name = 'registry_changelog'")
    take(admin, "registry_changelog")
    admin.execute(LOGGED.format("t", "x", "certify", "NULL"))
    take(admin, "registry_changelog")
    assert admin.execute(WINDOWS).fetchall() == [("object_registered", "t", 1)]
    assert admin.execute(MARKS).fetchall() == []
    assert [each.subject for each in store.listing(admin) if each.issue_type == "input_untrusted_source"] == [
        "handoff:registry_changelog"
    ]
    # However long it takes: what is told and forgotten of others is kept here.
    admin.execute("UPDATE oneroof.governance_handoff SET told = changes, told_at = now() - interval '9 days'")
    admin.execute(
        "INSERT INTO oneroof.governance_handoff SELECT source_name, change_kind, 'another', window_start,"
        " window_end, 'u',"
        " 1, 0, 0, NULL, false, occurred_at, ref, NULL, NULL, untold_since FROM oneroof.governance_handoff"
    )
    admin.execute("SELECT oneroof.gov_changes_emit('registry_changelog', 'all')")
    admin.execute("SELECT oneroof.gov_source_trust('registry_changelog')")
    assert admin.execute(MARKS).fetchall() == [("t", "object_registered", 1), ("u", "object_registered", 1)]
    assert [each for each in store.listing(admin) if each.issue_type == "input_untrusted_source"] == []


def test_a_storm_is_one_finding_and_marks_are_never_more_than_groups(admin: Connection) -> None:
    """Many changes of one group; then changes of most groups, which the scan takes some at a time."""
    tailed = judging.births(admin)
    judging.sweep(admin, tailed)
    judging.judge(admin, tailed)
    take(admin, "registry_changelog")
    admin.execute("UPDATE oneroof.governance_worker_policy SET storm_changes = 1000")
    admin.execute(
        "INSERT INTO registry_changelog (entity_type, entity_code, action)"
        " SELECT 't', 'x', 'certify' FROM generate_series(1, 1500)"
    )
    take(admin, "registry_changelog")
    storms = [each for each in store.listing(admin) if each.issue_type == "group_invalidation_storm"]
    assert [each.subject for each in storms] == ["gov_handoff_intake:registry_changelog"]
    admin.execute(
        "INSERT INTO registry_changelog (entity_type, entity_code, action)"
        " SELECT class, 'x', 'certify' FROM oneroof.governance_class"
    )
    take(admin, "registry_changelog")
    (classes,) = one(admin, "SELECT count(*) FROM oneroof.governance_class")
    assert one(admin, "SELECT count(*) FROM oneroof.governance_group_mark WHERE dirty") == (classes + 1,)
    assert one(admin, "SELECT taken FROM oneroof.gov_group_marks_take(7)") == (7,)
    judging.judge(admin, tailed)
    assert admin.execute(MARKS).fetchall() == []
    judging.check(admin)


def test_a_change_log_is_followed_from_where_it_was_registered(admin: Connection) -> None:
    """What was written before anybody looked for the first time is handed off; what was there before it was not."""
    admin.execute(
        "CREATE TABLE app_log (id int PRIMARY KEY, at timestamptz, kind text); CREATE INDEX ON app_log (at, id)"
    )
    admin.execute("INSERT INTO app_log VALUES (1, now(), 'before')")
    settle(admin)
    registration.add(admin, "app_log", key=["id"], kind=source.CHANGELOG, timestamp="at", of_class="kind")
    admin.execute("UPDATE oneroof.governance_source SET trusted_at = now() WHERE source_name = 'app_log'")
    admin.execute(
        "INSERT INTO oneroof.governance_handoff_map (map_code, source_name, priority, change_kind, dirties, dimensions,"
        """ description) VALUES ('app', 'app_log', 1, 'object_registered', 'class', '{"class": "@class"}', 'x')"""
    )
    admin.execute("INSERT INTO app_log VALUES (2, now(), 'between')")
    take(admin, "app_log")
    admin.execute("INSERT INTO app_log VALUES (3, now(), 'after')")
    take(admin, "app_log")
    assert [kind for _, kind, _ in admin.execute(WINDOWS)] == ["after", "between"]


@pytest.mark.parametrize("letter", ["x", "0"], ids=["names the window", "does not name it"])
def test_what_has_no_address_is_poison_and_the_rest_goes_on(admin: Connection, letter: str) -> None:
    """A ref or a group that is longer than an address: a dead letter, and no other row waits for it."""
    take(admin, "registry_changelog")
    (before,) = one(admin, "SELECT events_seen FROM oneroof.gov_worker_cursor WHERE source_name = 'registry_changelog'")
    admin.execute("UPDATE oneroof.governance_worker_policy SET attempts = 1")
    admin.execute(
        "INSERT INTO registry_changelog (entity_type, entity_code, action)"
        " SELECT CASE n WHEN 7 THEN repeat('g', 1000000) ELSE 't' END,"
        " CASE n WHEN 3 THEN repeat(%s, 5000) ELSE n::text END, 'certify' FROM generate_series(1, 20) AS n",
        (letter,),
    )
    take(admin, "registry_changelog")
    assert one(admin, "SELECT changes FROM oneroof.governance_handoff") == (18,)
    dead = "SELECT count(*) FROM oneroof.governance_retry WHERE state = 'dead' AND source_name = 'registry_changelog'"
    assert one(admin, dead) == (2,)
    seen = (
        "SELECT events_seen - (last_run_summary ->> 'own')::bigint FROM oneroof.gov_worker_cursor WHERE"
        " source_name = %s"
    )
    assert one(admin, seen, ("registry_changelog",)) == (before + 20,)


def test_odd_times_of_changes_are_taken_and_none_is_lost(admin: Connection) -> None:
    """Infinity, the far future and the far past."""
    admin.execute("CREATE TABLE odd (id int PRIMARY KEY, at timestamptz, what text)")
    registration.add(admin, "odd", key=["id"], timestamp="at", kind=source.CHANGELOG, facts=["what"])
    admin.execute(
        "UPDATE oneroof.governance_source SET trusted_at = now(), class_column = 'what' WHERE source_name = 'odd'"
    )
    admin.execute(
        "INSERT INTO oneroof.governance_handoff_map (map_code, source_name, priority, change_kind, dirties,"
        " description)"
        " VALUES ('odd', 'odd', 1, 'policy_changed', 'class', 'any')"
    )
    take(admin, "odd")
    times = ["infinity", "-infinity", "12000-01-01", "4000-01-01 BC", None, "now"]
    for number, text in enumerate(times):
        admin.execute("INSERT INTO odd VALUES (%s, %s::timestamptz, 'c')", (number, text))
    take(admin, "odd")
    assert one(admin, "SELECT sum(changes) FROM oneroof.governance_handoff WHERE class = 'c'") == (len(times),)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_retry") == (0,)


def test_a_source_that_is_removed_and_added_again_is_looked_at_anew(admin: Connection) -> None:
    """Nothing of what was seen of it stays: what changed meanwhile is no change, and what changes then is."""
    admin.execute("CREATE TABLE reg (code text PRIMARY KEY, title text)")
    admin.execute("INSERT INTO reg VALUES ('a', 'one')")
    admin.execute(
        "INSERT INTO oneroof.governance_handoff_map (map_code, source_name, priority, change_kind, dirties,"
        " description)"
        " VALUES ('reg', 'reg', 1, 'policy_changed', 'all', 'any')"
    )
    for title in ("two", "three"):
        registration.add(admin, "reg", key=["code"], kind=source.REGISTER)
        admin.execute("UPDATE oneroof.governance_source SET trusted_at = now() WHERE source_name = 'reg'")
        take(admin, "reg")
        assert admin.execute(WINDOWS).fetchall() == []
        admin.execute("UPDATE reg SET title = %s", (title,))
        take(admin, "reg")
        assert one(admin, "SELECT sum(changes) FROM oneroof.governance_handoff WHERE source_name = 'reg'") == (1,)
        registration.remove(admin, "reg")
        admin.execute("UPDATE reg SET title = 'meanwhile'")
