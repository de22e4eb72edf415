"""Owners: the nearest level wins, conflicts stay visible, and a file is taken whole or not at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bed import as_user, connect, set_clock
from inventory import make
from oneroof import timestamps
from oneroof.config import Settings
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import Refused, Usage
from oneroof.fence import lease
from oneroof.install import migrate
from oneroof.people import directory, owners, requests
from oneroof.people.owners import Imported
from oneroof.sources import registration
from oneroof.workers.backfill_sweep import NAME, BackfillSweep

HEAD = "level,subject,responsibility,owner,valid_from,valid_to\n"
COLLECTION = "customer_records"


@pytest.fixture
def operator(installed_database: str) -> Iterator[Connection]:
    with connect(as_user(installed_database, "viewer")) as connection:
        yield connection


def take(connection: Connection, *lines: str, replace: bool = False, dry_run: bool = False) -> Imported:
    return owners.take(connection, (HEAD + "\n".join(lines)).encode(), form="csv", replace=replace, dry_run=dry_run)


def candidate(admin: Connection, key: str, group: str, scope: str = "birth_registry") -> None:
    admin.execute(
        "INSERT INTO oneroof.governance_candidate_state"
        " (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, facts_hash)"
        " VALUES (%s, 'none', %s, %s, %s, '1', 0)",
        (key, group, scope, key),
    )


def of_object(connection: Connection, key: str, responsibility: str = "policy") -> list[tuple[str, str, bool]]:
    return connection.execute(
        "SELECT owner_ref, level, is_conflict FROM oneroof.v_object_effective_owner"
        " WHERE candidate_key = %s AND responsibility = %s ORDER BY 1",
        (key, responsibility),
    ).fetchall()


def of_collection(
    connection: Connection, name: str, responsibility: str = "policy", scope: str = "birth_registry"
) -> tuple[list[str], str | None, bool]:
    row = one(
        connection,
        "SELECT owners, level, is_conflict FROM oneroof.v_collection_owner"
        " WHERE source_name = %s AND class = %s AND responsibility = %s",
        (scope, name, responsibility),
    )
    return row[0], row[1], row[2]


def table(connection: Connection) -> list[tuple[object, ...]]:
    """Every column of every row that is recorded."""
    return connection.execute("SELECT * FROM oneroof.governance_object_ownership ORDER BY ownership_id").fetchall()


def audit(connection: Connection) -> list[tuple[str, str]]:
    return connection.execute(
        "SELECT entity_code, action FROM registry_changelog WHERE entity_type = 'oneroof.ownership' ORDER BY id"
    ).fetchall()


def test_the_nearest_level_wins_for_objects_and_collections(operator: Connection, admin: Connection) -> None:
    """Each nearer level hides the ones behind it, for its responsibility alone, and others inherit as before."""
    key = f"{COLLECTION}:one"
    candidate(admin, key, f"birth_registry/{COLLECTION}/born")
    candidate(admin, f"{COLLECTION}:two", f"birth_registry/{COLLECTION}/born")
    assert of_object(admin, key) == []
    assert of_collection(admin, COLLECTION) == ([], None, False)
    take(operator, "scope,*,policy,GOV-COUNCIL,,", "scope,*,audit,GOV-SIV,,")
    assert of_object(admin, key) == [("GOV-COUNCIL", "scope", False)]
    take(operator, "scope,birth_registry,policy,GOV-SIV,,")
    assert of_object(admin, key) == [("GOV-SIV", "scope", False)]
    assert of_collection(admin, COLLECTION) == (["GOV-SIV"], "scope", False)
    assert of_collection(admin, "*") == (["GOV-SIV"], "scope", False)
    take(operator, f"class,{COLLECTION},policy,GOV-DOT,,")
    assert of_object(admin, key) == [("GOV-DOT", "class", False)]
    assert of_collection(admin, COLLECTION) == (["GOV-DOT"], "class", False)
    assert of_collection(admin, "supplier_records") == (["GOV-SIV"], "scope", False)
    take(operator, f"collection,{COLLECTION},policy,requester,,")
    assert of_object(admin, key) == [("requester", "collection", False)]
    assert of_collection(admin, COLLECTION) == (["requester"], "collection", False)
    take(operator, f"object,{key},policy,approver,,")
    assert of_object(admin, key) == [("approver", "object", False)]
    assert of_object(admin, f"{COLLECTION}:two") == [("requester", "collection", False)]
    assert of_object(admin, key, "audit") == [("GOV-SIV", "scope", False)]
    assert of_collection(admin, COLLECTION, "render") == ([], None, False)


def test_two_owners_at_the_winning_level_are_a_conflict_and_both_are_shown(
    operator: Connection, admin: Connection
) -> None:
    """Behind a nearer owner two others are none; where they win, neither is chosen."""
    key = f"{COLLECTION}:one"
    candidate(admin, key, f"birth_registry/{COLLECTION}/born")
    take(operator, f"collection,{COLLECTION},policy,GOV-SIV,,", f"collection,{COLLECTION},policy,GOV-DOT,,")
    assert of_object(admin, key) == [("GOV-DOT", "collection", True), ("GOV-SIV", "collection", True)]
    assert of_collection(admin, COLLECTION) == (["GOV-DOT", "GOV-SIV"], "collection", True)
    take(operator, f"object,{key},policy,GOV-MOT,,")
    assert of_object(admin, key) == [("GOV-MOT", "object", False)]
    assert of_collection(admin, COLLECTION)[2] is True


def test_an_owner_counts_from_its_beginning_to_its_end(operator: Connection, admin: Connection) -> None:
    """By the database's clock: not before, no longer from the moment it ends, and the level behind takes over."""
    now = datetime.now(UTC)
    begin, end = (timestamps.write(now + timedelta(days=days)) for days in (10, 20))
    take(operator, f"collection,{COLLECTION},policy,GOV-SIV,{begin},{end}", "scope,*,policy,GOV-COUNCIL,,")
    seen = []
    for offset in ("0", "9 days 23 hours", "10 days 1 hour", "19 days 23 hours", "20 days 1 hour"):
        set_clock(admin, offset)
        seen.append(of_collection(admin, COLLECTION)[0])
    assert seen == [["GOV-COUNCIL"], ["GOV-COUNCIL"], ["GOV-SIV"], ["GOV-SIV"], ["GOV-COUNCIL"]]


def test_who_has_left_answers_for_nothing(installed_database: str, operator: Connection, admin: Connection) -> None:
    """A removed person's rows stay on record and count no longer; an export can still be imported."""
    take(operator, f"collection,{COLLECTION},policy,viewer,,", "scope,*,policy,GOV-COUNCIL,,")
    assert of_collection(admin, COLLECTION) == (["viewer"], "collection", False)
    with (
        connect(as_user(installed_database, "requester")) as asking,
        connect(as_user(installed_database, "approver")) as deciding,
    ):
        request = directory.change(asking, "viewer", {"action": "remove"}, reason="leaves")
        assert request is not None
        requests.decide(deciding, request, "approved")
        assert of_collection(admin, COLLECTION) == (["GOV-COUNCIL"], "scope", False)
        lines = owners.recorded(asking)
        assert [line.owner for line in lines] == ["viewer", "GOV-COUNCIL"]
        again = take(asking, f"collection,{COLLECTION},policy,viewer,,", "scope,*,policy,GOV-COUNCIL,,")
        assert (again.added, again.changed, again.unchanged) == (0, 0, 2)
        with pytest.raises(Usage, match=r"line 2: .viewer. is neither a registered person nor an office"):
            take(asking, f"collection,{COLLECTION},audit,viewer,,")


def test_the_class_of_a_candidate_is_its_collection(admin: Connection) -> None:
    """For every birth of the estate after a sweep; for a source without a class column it is the source."""
    made = make(admin)
    admin.execute("INSERT INTO src VALUES (1, now(), 'a')")
    for each in (registration.find(admin, "birth_registry"), made):
        held = lease.claim(admin, lease.executor_name(NAME, each.source_name), instance="test")
        worker = BackfillSweep(admin, each, held, batch=1000)
        while not worker.run_once().idle:
            pass
        lease.release(admin, held)
    wrong = """SELECT count(*) FILTER (WHERE k.class IS DISTINCT FROM b.collection_name), count(*)
               FROM oneroof.v_candidate_class AS k JOIN oneroof.governance_candidate_state AS c USING (candidate_key)
               JOIN birth_registry AS b ON b.id::text = c.source_key WHERE c.source_name = 'birth_registry'"""
    mistaken, births = one(admin, wrong)
    assert mistaken == 0
    assert births >= 1000
    assert one(admin, "SELECT class FROM oneroof.v_candidate_class WHERE source_name = 'src'") == ("src",)


def test_a_class_that_is_not_sure_is_none_and_inherits_from_the_source(operator: Connection, admin: Connection) -> None:
    """A slash inside a value makes the group key ambiguous: nobody's collection is guessed."""
    candidate(admin, "a/b:one", "birth_registry/a/b/born")
    take(operator, "collection,a,policy,GOV-SIV,,", "collection,a/b,policy,GOV-DOT,,", "scope,*,policy,GOV-COUNCIL,,")
    assert one(admin, "SELECT class FROM oneroof.v_candidate_class") == (None,)
    assert of_object(admin, "a/b:one") == [("GOV-COUNCIL", "scope", False)]


def test_a_source_without_classes_has_owners_by_its_name(operator: Connection, admin: Connection) -> None:
    """As a collection or as a scope; every collection of the registries and the catalog is listed once."""
    make(admin)
    assert of_collection(admin, "src", scope="src") == ([], None, False)
    take(operator, "scope,src,policy,GOV-SIV,,")
    assert of_collection(admin, "src", scope="src") == (["GOV-SIV"], "scope", False)
    take(operator, "collection,src,policy,GOV-DOT,,", "class,not_yet_known,policy,GOV-MOT,,")
    assert of_collection(admin, "src", scope="src") == (["GOV-DOT"], "collection", False)
    assert of_collection(admin, "not_yet_known") == (["GOV-MOT"], "class", False)
    doubled, places = one(
        admin,
        "SELECT count(*) - count(DISTINCT (source_name, class, responsibility)), count(DISTINCT (source_name, class))"
        " FROM oneroof.v_collection_owner",
    )
    (known,) = one(
        admin,
        "SELECT count(*) FROM (SELECT collection_name FROM collection_registry UNION SELECT entity_type"
        " FROM meta_catalog) AS classes",
    )
    # Besides those: the source src, its name as a collection of the births, not_yet_known, and any other.
    assert (doubled, places) == (0, known + 4)


def test_the_host_may_alter_its_registries_and_its_collations_do_not_matter(
    operator: Connection, admin: Connection
) -> None:
    """No view of ours holds on to a column of theirs, and two that cannot be compared are no obstacle."""
    admin.execute('ALTER TABLE collection_registry ALTER collection_name TYPE varchar COLLATE "C"')
    admin.execute('ALTER TABLE meta_catalog ALTER entity_type TYPE varchar COLLATE "POSIX"')
    take(operator, f"class,{COLLECTION},policy,GOV-SIV,,")
    assert of_collection(admin, COLLECTION) == (["GOV-SIV"], "class", False)


def test_one_object_is_looked_up_by_indexes_alone(operator: Connection, admin: Connection) -> None:
    """Among 20,000 candidates and 20,000 owners neither table is read through."""
    admin.execute(
        "INSERT INTO oneroof.governance_candidate_state"
        " (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, facts_hash)"
        " SELECT 'c:' || n, 'none', 'birth_registry/c/born', 'birth_registry', n::text, '1', 0"
        " FROM generate_series(1, 20000) AS n"
    )
    admin.execute(
        "INSERT INTO oneroof.governance_object_ownership"
        " (level, subject, responsibility, owner_ref, valid_from, recorded_by, recorded_at)"
        " SELECT 'object', 'c:' || n, 'policy', 'GOV-SIV', now() - interval '1 hour', 'viewer', now()"
        " FROM generate_series(1, 20000) AS n"
    )
    admin.execute("VACUUM ANALYZE oneroof.governance_candidate_state, oneroof.governance_object_ownership")
    take(operator, "collection,c,audit,GOV-DOT,,")
    (plan,) = one(
        admin,
        "EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM oneroof.v_object_effective_owner WHERE candidate_key = 'c:777'",
    )
    nodes = list(flatten(plan[0]["Plan"]))
    large = [
        n for n in nodes if n.get("Relation Name") in ("governance_candidate_state", "governance_object_ownership")
    ]
    assert {n["Relation Name"] for n in large} == {"governance_candidate_state", "governance_object_ownership"}
    assert all("Index" in n["Node Type"] for n in large), [n["Node Type"] for n in large]
    touched = sum(n["Actual Loops"] * (n["Actual Rows"] + n.get("Rows Removed by Filter", 0)) for n in large)
    assert touched <= 10
    assert of_object(admin, "c:777") == [("GOV-SIV", "object", False)]
    assert of_object(admin, "c:777", "audit") == [("GOV-DOT", "collection", False)]


def flatten(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from flatten(below)


def test_importing_twice_changes_nothing(operator: Connection, admin: Connection) -> None:
    """The second time every row is as it was, and the audit channel has the first time only."""
    lines = (
        f"collection,{COLLECTION},policy,GOV-SIV,,",
        f"collection,{COLLECTION},audit,requester,2026-01-01,2999-01-01",
    )
    first = take(operator, *lines)
    assert (first.added, first.changed, first.unchanged, first.ended) == (2, 0, 0, 0)
    before = table(admin)
    set_clock(admin, "1 day")
    second = take(operator, *lines)
    assert (second.added, second.changed, second.unchanged, second.ended) == (0, 0, 2, 0)
    assert str(second) == "0 added, 0 changed, 2 unchanged"
    assert table(admin) == before
    assert audit(admin) == [("viewer", "import: 2 added, 0 changed, 0 unchanged, 0 ended")]


def test_a_line_that_differs_changes_its_row(operator: Connection, admin: Connection) -> None:
    """A new end or a new beginning; who changed it and when is on the row."""
    take(operator, f"collection,{COLLECTION},policy,GOV-SIV,2026-01-01,")
    done = take(operator, f"collection,{COLLECTION},policy,GOV-SIV,2026-01-01,2026-12-31T12:00:00+02:00")
    assert (done.added, done.changed, done.unchanged) == (0, 1, 0)
    row = one(admin, "SELECT valid_from, valid_to, recorded_by FROM oneroof.governance_object_ownership")
    assert row == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 12, 31, 10, tzinfo=UTC), "viewer")
    assert len(audit(admin)) == 2


def test_replace_ends_what_the_file_no_longer_has(operator: Connection, admin: Connection) -> None:
    """What has begun ends now and is kept, what had not begun is withdrawn, what had ended stays as it was."""
    take(
        operator,
        f"collection,{COLLECTION},policy,GOV-SIV,2026-01-01,",
        f"collection,{COLLECTION},audit,GOV-SIV,2026-01-01,",
        f"collection,{COLLECTION},render,GOV-SIV,2997-01-01,",
        f"collection,{COLLECTION},health,GOV-SIV,2020-01-01,2021-01-01",
    )
    tried = take(operator, f"collection,{COLLECTION},policy,GOV-SIV,,", replace=True, dry_run=True)
    assert (tried.unchanged, tried.ended, tried.dry_run) == (1, 2, True)
    assert len(table(admin)) == 4
    done = take(operator, f"collection,{COLLECTION},policy,GOV-SIV,,", replace=True)
    assert (done.added, done.changed, done.unchanged, done.ended) == (0, 0, 1, 2)
    left = admin.execute(
        "SELECT responsibility, valid_to <= oneroof.gov_now(), valid_to > now() - interval '1 hour'"
        " FROM oneroof.governance_object_ownership ORDER BY 1"
    ).fetchall()
    assert left == [("audit", True, True), ("health", True, False), ("policy", None, None)]
    assert take(operator, f"collection,{COLLECTION},policy,GOV-SIV,,", replace=True).ended == 0
    back = take(operator, f"collection,{COLLECTION},audit,GOV-SIV,,")
    assert back.changed == 1
    (since,) = one(
        admin,
        "SELECT valid_from > now() - interval '1 hour' FROM oneroof.governance_object_ownership WHERE"
        " responsibility = 'audit'",
    )
    assert since is True


def test_a_file_without_owners_does_not_end_all(operator: Connection, admin: Connection) -> None:
    """A cut-off file with --replace is a mistake, not an order."""
    take(operator, f"collection,{COLLECTION},policy,GOV-SIV,,")
    before = table(admin)
    with pytest.raises(Usage, match="would end all of them"):
        take(operator, replace=True)
    assert table(admin) == before
    assert take(operator).added == 0


def test_a_dry_run_counts_and_writes_nothing(operator: Connection, admin: Connection) -> None:
    """No row, no audit row."""
    tried = take(operator, f"collection,{COLLECTION},policy,GOV-SIV,,", dry_run=True)
    assert (tried.added, tried.dry_run) == (1, True)
    assert (table(admin), audit(admin)) == ([], [])


def test_one_wrong_line_and_nothing_is_imported(operator: Connection, admin: Connection) -> None:
    """Whether a reader of the file or the database finds it wrong; every wrong line is told at once."""
    with pytest.raises(Usage) as wrong:
        take(
            operator,
            f"collection,{COLLECTION},policy,GOV-SIV,,",
            f"collection,{COLLECTION},policy,nobody,,",
            f"colection,{COLLECTION},policy,GOV-DOT,,",
            f"collection,{COLLECTION},audit,GOV-DOT,,2001-01-01",
        )
    said = str(wrong.value).splitlines()
    assert said[0] == "3 lines are wrong, and nothing was imported:"
    assert said[1] == '  line 3: "nobody" is neither a registered person nor an office'
    assert said[2] == "  line 4: there is no level 'colection'; did you mean collection?"
    assert said[3].startswith("  line 5: it would end on 2001-01-01T00:00:00Z, before it begins on 20")
    assert wrong.value.hint is not None
    assert "GOV-COUNCIL" in wrong.value.hint
    assert (table(admin), audit(admin)) == ([], [])


def test_many_wrong_lines_are_counted_and_ten_are_shown(operator: Connection) -> None:
    """The first ten by their number, whoever found them, and how many more there are."""
    with pytest.raises(Usage) as wrong:
        take(operator, *(f"collection,c{n},{'policy' if n % 2 else 'polcy'},nobody{n},," for n in range(40)))
    said = str(wrong.value).splitlines()
    assert said[0] == "40 lines are wrong, and nothing was imported:"
    assert [line.split(":")[0].strip() for line in said[1:11]] == [f"line {n}" for n in range(2, 12)]
    assert said[11:] == ["  and 30 more"]


def test_the_function_refuses_for_itself(operator: Connection, admin: Connection) -> None:
    """Whoever calls it without our reader gets past no constraint, and past no check of the person."""
    call = "SELECT oneroof.gov_ownership_import(%s::jsonb, false, false)"
    row = {"line": 1, "level": "collection", "subject": "c", "responsibility": "policy", "owner": "GOV-SIV"}
    for broken in ({"level": "galaxy"}, {"responsibility": "fame"}, {"subject": "*"}, {"subject": "x" * 2001}):
        with pytest.raises(Exception, match="violates check constraint"):
            operator.execute(call, (json.dumps([{**row, **broken}]),))
    with pytest.raises(Exception, match="valid_dates"):
        operator.execute(call, (json.dumps([{**row, "valid_from": "-infinity"}]),))
    with pytest.raises(Exception, match="second time"):
        operator.execute(call, (json.dumps([row, row]),))
    with pytest.raises(Exception, match="no registered person"):
        admin.execute(call, (json.dumps([row]),))
    (answer,) = one(operator, call, (json.dumps([{**row, "owner": "nobody"}]),))
    assert (answer["wrong"], answer["problems"][0]["line"]) == (1, 1)
    assert table(admin) == []


def test_two_imports_at_once_do_not_double_anything(installed_database: str, admin: Connection) -> None:
    """One adds, the other finds it there."""
    lines = [f"object,c:{n},policy,GOV-SIV,," for n in range(300)]
    done: list[Imported] = []

    def run(user: str) -> None:
        with connect(as_user(installed_database, user)) as connection:
            done.append(take(connection, *lines))

    threads = [threading.Thread(target=run, args=(user,)) for user in ("viewer", "requester", "approver")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((each.added, each.unchanged) for each in done) == [(0, 300), (0, 300), (300, 0)]
    assert one(admin, "SELECT count(*) FROM oneroof.governance_object_ownership") == (300,)
    assert len(audit(admin)) == 1


def test_uninstall_takes_the_owners_away(operator: Connection, admin: Connection) -> None:
    """With rows in every table of theirs."""
    take(operator, f"collection,{COLLECTION},policy,GOV-SIV,,")
    migrate.uninstall(admin, settings=Settings(home=Path("unused")))
    left = admin.execute(
        "SELECT relname FROM pg_class WHERE relname ~ '^(governance_(office|object_ownership|exception)|v_.*owner.*)'"
    ).fetchall()
    assert left == []


def test_a_stranger_sees_no_owner(installed_database: str, admin: Connection) -> None:
    """A login of the host alone is refused, not shown an empty list."""
    admin.execute("DROP ROLE IF EXISTS owners_stranger")
    admin.execute("CREATE ROLE owners_stranger LOGIN")
    try:
        with (
            connect(as_user(installed_database, "owners_stranger")) as stranger,
            pytest.raises(Refused, match="permission denied"),
        ):
            owners.listing(stranger)
    finally:
        admin.execute("DROP ROLE owners_stranger")
