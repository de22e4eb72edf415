"""Marks of groups: none is lost to whoever judges at the same moment, and what is a storm and when it is over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import judging
from bed import command, connect, eventually, set_clock
from inventory import claim
from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.fence import lease
from oneroof.findings import store
from oneroof.runtime.watch import watch
from oneroof.sources import registration
from oneroof.workers import handoff_intake

LOGGED = "INSERT INTO registry_changelog (entity_type, entity_code, action) VALUES (%s, 'x', 'policy_change')"
LARGEST = "SELECT class FROM oneroof.governance_fact_set GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"
WAITS = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s"


def take(admin: Connection, name: str = "registry_changelog") -> None:
    judging.intake(admin, registration.find(admin, name))


def judged(admin: Connection) -> None:
    tailed = judging.births(admin)
    judging.sweep(admin, tailed)
    judging.judge(admin, tailed)


def test_a_mark_is_not_lost_to_somebody_who_judges_by_what_was_known_before(
    admin: Connection, installed_database: str
) -> None:
    """Sets that are dirty and are being judged when their mark is taken are judged again after it."""
    judged(admin)
    take(admin)
    (name,) = one(admin, LARGEST)
    admin.execute("UPDATE oneroof.governance_fact_set SET is_dirty = true WHERE class = %s", (name,))
    admin.execute(LOGGED, (name,))
    take(admin)
    with connect(installed_database) as judge, connect(installed_database) as taker, ThreadPoolExecutor(1) as aside:
        judge.execute("BEGIN")
        judge.execute("SELECT oneroof.gov_fact_sets_judge('birth_registry'::text, 10000::bigint)")
        taken = aside.submit(one, taker, "SELECT taken FROM oneroof.gov_group_marks_take(10::bigint)")
        pid = taker.info.backend_pid
        eventually(lambda: taken.done() or one(admin, WAITS, (pid,)) == ("Lock",), what="the mark to be taken")
        judge.execute("COMMIT")
        assert taken.result() == (1,)
    clean = "SELECT count(*) FROM oneroof.governance_fact_set WHERE class = %s AND NOT is_dirty"
    assert one(admin, clean, (name,)) == (0,)


STORM = "group_invalidation_storm:gov_handoff_intake:registry_changelog"
EACH = "INSERT INTO registry_changelog (entity_type, entity_code, action) SELECT class, 'x', 'certify' FROM ({}) AS c"
CLASSES = "SELECT DISTINCT class FROM oneroof.governance_class ORDER BY 1"


def storms(admin: Connection) -> list[str]:
    return [each.coalesce_key for each in store.listing(admin) if each.issue_type == "group_invalidation_storm"]


def test_one_tick_that_dirties_most_groups_is_a_storm_and_its_marks_are_taken_some_at_a_time(admin: Connection) -> None:
    """Doc 39 §39.7: above the configured share it is one finding, and the scan is throttled."""
    judged(admin)
    take(admin)
    admin.execute(EACH.format(CLASSES))
    take(admin)
    assert storms(admin) == [STORM]
    assert one(admin, "SELECT taken, remaining > 7 FROM oneroof.gov_group_marks_take(7::bigint)") == (7, True)


def test_marks_that_add_up_while_nobody_scans_are_no_storm(admin: Connection) -> None:
    """Few at each tick and in the end most of all: no finding, and whoever scans takes all of them."""
    judged(admin)
    take(admin)
    (classes,) = one(admin, f"SELECT count(*) FROM ({CLASSES}) AS c")
    for first in range(0, classes, 9):
        admin.execute(EACH.format(f"{CLASSES} OFFSET {first} LIMIT 9"))
        take(admin)
    assert storms(admin) == []
    assert one(admin, "SELECT taken, remaining FROM oneroof.gov_group_marks_take(7::bigint)") == (classes, 0)


def test_where_no_group_is_known_yet_there_is_no_storm(admin: Connection) -> None:
    """The first owners of many classes, before anything was judged: nothing there is that could be throttled."""
    take(admin, "governance_object_ownership")
    admin.execute(
        "INSERT INTO oneroof.governance_object_ownership (level, subject, responsibility, owner_ref, valid_from,"
        " recorded_by,"
        " recorded_at) SELECT 'collection', collection_name, 'policy', 'GOV-COUNCIL', now(), 'requester', now()"
        " FROM collection_registry WHERE collection_name IS NOT NULL"
    )
    take(admin, "governance_object_ownership")
    assert one(admin, "SELECT count(*) > 20 FROM oneroof.governance_group_mark WHERE dirty") == (True,)
    assert storms(admin) == []


def test_a_storm_closes_with_the_run_that_has_absorbed_it(logins: Logins) -> None:
    """A run that ends leaves no storm behind; one that goes on closes it two minutes after the last of it."""
    admin = logins.admin
    logins.open_gate("governance.workers_enabled")
    judged(admin)
    take(admin)
    admin.execute(EACH.format(CLASSES))
    ran = command("run", "--until-idle", dsn=logins.dsn)
    assert ran.code == 0, ran.err
    issue = "SELECT status, occurrence_count FROM system_issues WHERE coalesce_key = %s"
    assert one(admin, issue, (STORM,)) == ("resolved", 1)


def test_a_storm_stays_open_while_it_may_go_on(admin: Connection) -> None:
    """While somebody is at work, for two minutes after the last tick of it; and while most groups are dirty."""
    judged(admin)
    take(admin)
    admin.execute(EACH.format(CLASSES))
    take(admin)
    assert STORM not in watch(admin).cleared
    held = claim(admin, handoff_intake.NAME, "registry_changelog")
    admin.execute("UPDATE oneroof.governance_group_mark SET dirty = false")
    assert STORM not in watch(admin).cleared
    lease.release(admin, held)
    assert STORM in watch(admin).cleared
    admin.execute(EACH.format(CLASSES))
    take(admin)
    set_clock(admin, "3 minutes")
    assert STORM not in watch(admin).cleared
    admin.execute("UPDATE oneroof.governance_group_mark SET dirty = false")
    held = claim(admin, handoff_intake.NAME, "registry_changelog")
    assert STORM in watch(admin).cleared
    lease.release(admin, held)
