DELETE FROM oneroof.governance_finding WHERE issue_type IN ('handoff_lag', 'handoff_dlq', 'handoff_silent_gap');
DELETE FROM oneroof.governance_finding_type WHERE issue_type IN ('handoff_lag', 'handoff_dlq', 'handoff_silent_gap');
DELETE FROM oneroof.governance_source WHERE source_kind = 'register';
DROP TABLE oneroof.governance_untold, oneroof.governance_handoff, oneroof.governance_group_mark, oneroof.governance_register_row, oneroof.governance_handoff_map;
