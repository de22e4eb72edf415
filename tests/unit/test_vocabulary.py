"""The shipped vocabulary has every type that docs 39 and 41 name, and no type carries what an object contains."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from oneroof.signals import vocabulary

TYPES = {entry["event_type"]: entry for entry in vocabulary.shipped()}
HANDOFF = (
    "object_born object_registered collection_changed count_changed object_retired source_changed axis_introduced "
    "policy_changed authority_changed ruleset_changed heartbeat lag dlq silent_gap unregistered_type"
)
NAMED = {
    "governance.handoff": HANDOFF,
    "governance.backfill": "inventory_gap batch_failed incomplete dlq_overflow sweep_completed",
    "governance.input": "incomplete invalid_schema duplicate conflict stale untrusted_source quarantined",
    "governance.candidate": "stale unknown scan_lag group_invalidation_storm scan_completed",
    "governance.coverage": "orphan scan_completed audit_completed summary",
    "governance.cursor": "lag dlq silent_gap lease_conflict watermark_regression",
    "governance.owner": "gap assigned resolved revoked expired",
    "governance.exception": "granted resolved revoked expired",
    "governance.authority": "delegated resolved revoked expired",
    "governance.axis": "owner_assigned resolved revoked expired",
    "governance.island": "detected",
    "governance.phantom": "gap",
}


@pytest.mark.parametrize("prefix", NAMED)
def test_every_type_that_the_documents_name_is_there(prefix: str) -> None:
    """doc 41 §41.4 families A to E, doc 39 §39.0."""
    assert [word for word in NAMED[prefix].split() if f"{prefix}.{word}" not in TYPES] == []


def test_the_families_have_their_streams() -> None:
    """doc 41 §41.4: one stream for each family, at least twenty detections besides the three heartbeats."""
    assert {entry["event_stream"] for entry in TYPES.values()} == {
        f"governance.{family}"
        for family in ("handoff", "backfill", "input", "candidate", "coverage", "lifecycle", "cursor")
    }
    counts = Counter(entry["family"] for entry in TYPES.values())
    assert counts["coverage"] - 3 >= 20
    assert len(TYPES) == len(vocabulary.shipped())


def test_a_type_is_whole_and_its_keys_are_addresses_refs_and_counts() -> None:
    """doc 41 §41.5 and §41.6: signal, not data."""
    forbidden = re.compile("content|body|text|payload$|data|document|title|name$")
    for name, entry in TYPES.items():
        assert re.fullmatch(r"governance(\.[a-z][a-z0-9_]*){2,}", name)
        assert entry["delivery_lane"] in ("immediate", "digest")
        assert entry["default_severity"] in ("info", "low", "medium", "high", "critical")
        assert entry["owner_hint"].startswith("GOV-")
        assert entry["description"]
        assert len(set(entry["payload_keys"])) == len(entry["payload_keys"])
        assert [key for key in entry["payload_keys"] if forbidden.search(key) and key != "collection_name"] == []
