"""What the signals of windows say, when a window is told, and that it is told once (doc 32 §5 and §6, doc 41 §41.5)."""

from __future__ import annotations

import judging
from logins import Logins
from oneroof import source
from oneroof.db import Connection

ADDRESSES = (
    "SELECT event_subject_table, event_subject_ref, canonical_address, safe_payload ? 'collection_name'"
    " FROM event_outbox WHERE event_stream = 'governance.handoff' ORDER BY 1, 2"
)


def take(admin: Connection, name: str = "registry_changelog") -> None:
    judging.intake(admin, source.find(admin, name))


def test_a_change_without_a_class_is_addressed_by_its_table(logins: Logins) -> None:
    """Doc 41 §41.5: collection_name:entity_code where there is a class; else table:ref, as gov_emit has it."""
    admin = logins.admin
    logins.activate("governance.handoff.*")
    admin.execute("CREATE TABLE app_log (id int PRIMARY KEY, at timestamptz, kind text)")
    source.add(admin, "app_log", key=["id"], timestamp="at", kind=source.CHANGELOG, of_class="kind", ref="id")
    admin.execute("UPDATE governance_source SET trusted_at = now() WHERE source_name = 'app_log'")
    admin.execute(
        "INSERT INTO governance_handoff_map (map_code, source_name, priority, change_kind, dirties, dimensions,"
        """ description) VALUES ('app', 'app_log', 1, 'object_registered', 'class', '{"class": "@class"}', 'x')"""
    )
    for name in ("app_log", "pivot_definitions"):
        take(admin, name)
    admin.execute("INSERT INTO app_log VALUES (1, now(), 'things'), (2, now(), NULL)")
    admin.execute("INSERT INTO pivot_definitions (code, name) VALUES ('new', 'New')")
    for name in ("app_log", "pivot_definitions"):
        take(admin, name)
    assert admin.execute(ADDRESSES).fetchall() == [
        ("app_log", "1", "things:1", True),
        ("app_log", "2", "app_log:2", False),
        ("pivot_definitions", "new", "pivot_definitions:new", False),
    ]
