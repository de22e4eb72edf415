"""Marks of groups: none is lost to whoever judges at the same moment, and what is a storm and when it is over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import judging
from bed import connect, eventually
from oneroof import source
from oneroof.db import Connection, one

LOGGED = "INSERT INTO registry_changelog (entity_type, entity_code, action) VALUES (%s, 'x', 'policy_change')"
LARGEST = "SELECT class FROM governance_fact_set GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"
WAITS = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s"


def take(admin: Connection, name: str = "registry_changelog") -> None:
    judging.intake(admin, source.find(admin, name))


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
    admin.execute("UPDATE governance_fact_set SET is_dirty = true WHERE class = %s", (name,))
    admin.execute(LOGGED, (name,))
    take(admin)
    with connect(installed_database) as judge, connect(installed_database) as taker, ThreadPoolExecutor(1) as aside:
        judge.execute("BEGIN")
        judge.execute("SELECT gov_fact_sets_judge('birth_registry'::text, 10000::bigint)")
        taken = aside.submit(one, taker, "SELECT taken FROM gov_handoffs_absorb(10::bigint)")
        pid = taker.info.backend_pid
        eventually(lambda: taken.done() or one(admin, WAITS, (pid,)) == ("Lock",), what="the mark to be taken")
        judge.execute("COMMIT")
        assert taken.result() == (1,)
    clean = "SELECT count(*) FROM governance_fact_set WHERE class = %s AND NOT is_dirty"
    assert one(admin, clean, (name,)) == (0,)
