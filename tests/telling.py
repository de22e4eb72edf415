"""Births that are told of, the signals that tell, and a replay of both."""

from __future__ import annotations

from typing import Any

import judging
from oneroof.database.connection import Connection
from oneroof.fence.lease import claim, executor_name, release
from oneroof.runtime.replay import Replay, Replayed, moment
from oneroof.sources import registration
from oneroof.workers import handoff_intake
from oneroof.workers.handoff_intake import HandoffIntake

SIGNALS = (
    "SELECT event_type, event_subject_table, event_subject_ref, safe_payload FROM event_outbox"
    " WHERE event_domain = 'governance' AND event_stream = 'governance.handoff' ORDER BY created_at, id"
)


def signals(admin: Connection) -> list[tuple[str, str, str, dict[str, Any]]]:
    return [(kind.rsplit(".", 1)[1], table, ref, said) for kind, table, ref, said in admin.execute(SIGNALS)]


def swept(admin: Connection) -> None:
    tailed = judging.births(admin)
    judging.sweep(admin, tailed)
    judging.intake(admin, tailed)


def bear(admin: Connection, first: int, last: int) -> None:
    admin.execute(
        "INSERT INTO birth_registry (collection_name, entity_code, born_at) SELECT 'things', 'T-' || n, now()"
        " FROM generate_series(%s::int, %s::int) AS n",
        (first, last),
    )


def hand_off(admin: Connection) -> None:
    """What was written to the births is marked, and nothing told."""
    held = claim(admin, executor_name(handoff_intake.NAME, "birth_registry"), instance="here", ttl=3600)
    intake = HandoffIntake(admin, judging.births(admin), held, sweep_interval=0)
    while intake.windows_closed < 2:
        intake.run_once()
    release(admin, held)


def again(admin: Connection, worker: str, name: str, *, since: str = "start", dry: bool = False) -> Replayed:
    tailed = registration.find(admin, name)
    held = claim(admin, executor_name(worker, name), instance="replay")
    try:
        replay = Replay(admin, worker, tailed, held, since=moment(admin, tailed, since), is_dry=dry)
        return replay.run(lambda _done, _total, _what: None)
    finally:
        release(admin, held)
