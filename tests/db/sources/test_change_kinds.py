"""Mappings are data: a new source is handed off without code, and what is no mapping is refused with a sentence."""

from __future__ import annotations

import pytest

import judging
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import OneroofError
from oneroof.sources import change_kinds, registration, source


def test_a_new_change_log_is_handed_off_by_a_row(admin: Connection) -> None:
    """Two mappings: the first that fits counts; without any a change is seen and nothing follows."""
    admin.execute("CREATE TABLE deals (id int PRIMARY KEY, at timestamptz DEFAULT now(), team text, status text)")
    admin.execute("CREATE INDEX deals_at_id ON deals (at, id)")
    registration.add(
        admin, "deals", key=["id"], timestamp="at", kind=source.CHANGELOG, facts=["status"], of_class="team"
    )
    admin.execute("UPDATE oneroof.governance_source SET trusted_at = now() WHERE source_name = 'deals'")
    tailed = registration.find(admin, "deals")
    judging.intake(admin, tailed)
    admin.execute("INSERT INTO deals VALUES (1, now(), 'east', 'closed')")
    judging.intake(admin, tailed)
    assert one(admin, "SELECT count(*) FROM oneroof.governance_handoff") == (0,)
    for priority, code, kind, when in (
        (10, "deals_closed", "object_retired", '$.status == "closed"'),
        (20, "deals_rest", "object_registered", None),
    ):
        change_kinds.add(
            admin,
            code,
            source="deals",
            kind=kind,
            priority=priority,
            predicate=when,
            dimensions={"object_class": "@class", "state": "status", "registry": "@source"},
        )
    admin.execute("INSERT INTO deals VALUES (2, now(), 'east', 'closed'), (3, now(), 'west', 'open')")
    judging.intake(admin, tailed)
    assert admin.execute(
        "SELECT change_kind, class, group_key FROM oneroof.governance_handoff ORDER BY 1"
    ).fetchall() == [
        ("object_registered", "west", "object_class=west/registry=deals/state=open"),
        ("object_retired", "east", "object_class=east/registry=deals/state=closed"),
    ]
    change_kinds.remove(admin, "deals_rest")
    assert [each.map_code for each in change_kinds.listing(admin, "deals")] == ["deals_closed"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"predicate": "$.status =="}, "syntax error"),
        ({"predicate": "$.status"}, "yes-or-no"),
        ({"kind": "object_lost"}, "is no --kind"),
        ({"dirties": "everything"}, "is no --dirties"),
        ({"on_change": "delete"}, "is no --on"),
        ({"source": "nowhere"}, "no source"),
        ({"priority": 100}, "priority 100 already"),
        ({"code": "Bad Code"}, "violates check"),
    ],
)
def test_what_is_no_mapping_is_refused(admin: Connection, words: dict[str, object], why: str) -> None:
    """And nothing of it is kept."""
    before = change_kinds.listing(admin)
    given = {"code": "mine", "source": "registry_changelog", "kind": "policy_changed", "priority": 5, **words}
    with pytest.raises(OneroofError, match=why):
        change_kinds.add(admin, given.pop("code"), **given)  # type: ignore[arg-type]
    assert change_kinds.listing(admin) == before
