"""The heartbeat of the intake counts each change once, as what became of it (doc 32 §5, step 7)."""

from __future__ import annotations

from typing import Any

import judging
from inventory import settle, until_idle
from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.fence.lease import claim, executor_name, release
from oneroof.fence.step import Run
from oneroof.runtime.watch import watch
from oneroof.sources import registration
from oneroof.workers import handoff_intake
from oneroof.workers.handoff_intake import HandoffIntake

BEAT = "governance.handoff.heartbeat"
LOGGED = "INSERT INTO registry_changelog (entity_type, entity_code, action) VALUES "
LOG, OUTBOX, NORMS = "registry_changelog", "event_outbox", "normative_registry"


def take(admin: Connection, name: str) -> Run:
    """All that is new, and the account of it."""
    settle(admin)
    held = claim(admin, executor_name(handoff_intake.NAME, name), instance="here")
    intake = HandoffIntake(admin, registration.find(admin, name), held, at_once=True)
    until_idle(intake)
    release(admin, held)
    return intake.run


def beat(logins: Logins, name: str = LOG) -> dict[str, Any]:
    """What the next heartbeat says, of an intake that is at work."""
    admin = logins.admin
    admin.execute("UPDATE oneroof.governance_worker_policy SET heartbeat_interval = '1 microsecond'")
    held = claim(admin, executor_name(handoff_intake.NAME, name), instance="here")
    watch(admin)
    release(admin, held)
    (said,) = one(
        admin, "SELECT safe_payload FROM event_outbox WHERE event_type = %s ORDER BY created_at DESC LIMIT 1", (BEAT,)
    )
    return dict(said)


def test_doc32_5_7_the_heartbeat_counts_as_coalesced_what_was_and_nothing_else(logins: Logins) -> None:
    """seen = own + coalesced + enqueued + what failed + what is no handoff: five changes of a class and two of another
    are two marks and five coalesced, whatever oneroof itself wrote between; neither a row that failed, nor one that is
    of no kind, nor the first look at a register or a row of it that is as it was is coalesced.
    """
    admin = logins.admin
    logins.activate(BEAT)
    admin.execute("UPDATE oneroof.governance_worker_policy SET attempts = 1")
    runs = [take(admin, name) for name in (LOG, OUTBOX, NORMS)]
    first = beat(logins)
    assert (first["coalesced"], first["enqueued"], first["dlq"]) == (0, 0, 0)
    admin.execute(LOGGED + ", ".join(["('t', 'x', 'certify')"] * 5 + ["('u', 'y', 'certify')"] * 2))
    for n in range(30):
        admin.execute("SELECT oneroof.gov_audit_note('x', 'y', %s)", (str(n),))
    runs.append(take(admin, LOG))
    said = beat(logins)
    assert (said["coalesced"], said["enqueued"], said["dlq"]) == (5, 2, 0)

    admin.execute(LOGGED + "('t', repeat('z', 3000), 'certify')")
    runs.append(take(admin, LOG))
    columns = "event_domain, event_type, event_stream, delivery_lane, event_subject_table, canonical_address, actor_ref"
    admin.execute(
        f"INSERT INTO event_outbox ({columns}, source_system) SELECT {columns}, 'host' FROM event_outbox LIMIT 1"
    )
    runs.append(take(admin, OUTBOX))
    admin.execute(f"UPDATE {NORMS} SET code = code")
    runs.append(take(admin, NORMS))
    admin.execute(f"UPDATE {NORMS} SET title = 'another' WHERE code = (SELECT min(code) FROM {NORMS})")
    runs.append(take(admin, NORMS))
    said = beat(logins)
    (norms,) = one(admin, f"SELECT count(*) FROM {NORMS}")
    own, no_handoff = sum(run.own for run in runs), 1 + norms
    assert own >= 30
    assert (said["coalesced"], said["enqueued"], said["dlq"]) == (5, 3, 1)
    assert said["seen"] == sum(run.rows_seen for run in runs)
    assert said["seen"] == own + said["coalesced"] + said["enqueued"] + said["dlq"] + no_handoff


def test_of_an_inventory_nothing_is_coalesced(logins: Logins) -> None:
    """Each object is told by itself; a row that is written again as it was is none."""
    admin = logins.admin
    logins.activate(BEAT)
    tailed = judging.births(admin)
    judging.sweep(admin, tailed)
    take(admin, "birth_registry")
    before = beat(logins, "birth_registry")
    admin.execute(
        "INSERT INTO birth_registry (collection_name, entity_code, born_at)"
        " SELECT 'things', n::text, now() FROM generate_series(1, 20) AS n"
    )
    admin.execute("UPDATE birth_registry SET entity_code = entity_code WHERE collection_name <> 'things'")
    take(admin, "birth_registry")
    after = beat(logins, "birth_registry")
    assert after["enqueued"] - before["enqueued"] == 20
    assert after["seen"] - before["seen"] > 20
    assert after["coalesced"] == 0
