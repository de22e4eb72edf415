DROP TABLE oneroof.governance_handoff_map;
DROP TABLE oneroof.governance_snapshot;
DROP TABLE oneroof.governance_source_removed;
DROP TABLE oneroof.governance_source;
