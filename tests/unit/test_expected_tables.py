"""What the seeds expect is written down once, completely."""

from __future__ import annotations

from oneroof.host import expected_tables

CHANNELS = {
    "registry_changelog", "event_outbox", "event_pending", "queue_heartbeat", "system_issues", "evolution_snapshots",
    "approval_requests", "dot_config", "event_read", "event_subscription", "event_type_registry",
}  # fmt: skip


def test_every_table_has_a_kind_a_clause_and_columns() -> None:
    """And the channels are exactly those that oneroof may write through functions."""
    tables = {table.name: table for table in expected_tables.tables()}
    assert {name for name, table in tables.items() if table.kind == "channel"} == CHANNELS
    assert {table.kind for table in tables.values()} == {"registry", "channel"}
    for table in tables.values():
        assert table.seed.startswith(("doc ", "design"))
        assert table.purpose
        assert table.columns
        assert set(table.inserts) <= set(table.columns)
        assert (table.kind == "channel") == bool(table.inserts)


def test_the_three_sources_of_doc_39_are_known() -> None:
    """With the timestamp and key their keysets use (doc 39 §39.4)."""
    sources = {table.name: (table.timestamp, table.key) for table in expected_tables.tables() if table.is_source}
    assert sources == {
        "birth_registry": ("born_at", ("id",)),
        "registry_changelog": ("timestamp", ("id",)),
        "event_outbox": ("occurred_at", ("id",)),
    }
