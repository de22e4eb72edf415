DROP TABLE oneroof.governance_ruleset_rule;
DROP TABLE oneroof.governance_ruleset;
DROP TABLE oneroof.governance_rule;
-- A type of which there ever was a finding stays as long as that is remembered.
DELETE FROM oneroof.governance_finding_type AS t
WHERE t.issue_type IN (
    'governance_orphan', 'owner_gap', 'owner_conflict', 'owner_unknown', 'island', 'approval_path_gap', 'unratified_exception',
    'exception_expired', 'phantom', 'governance_schema_drift', 'backfill_incomplete', 'backfill_inventory_gap',
    'uncovered_collection', 'unregistered_collection', 'exemption_unexplained', 'review_owner_gap', 'stale_verdict',
    'resurrected_object', 'mass_vanishing', 'retired_but_owned', 'uncertified_root', 'unattributed_birth', 'legacy_bypass',
    'input_incomplete', 'input_invalid_schema', 'input_duplicate', 'input_conflict', 'input_untrusted_source',
    'input_quarantined', 'candidate_unknown', 'scan_lag', 'group_invalidation_storm')
  AND NOT EXISTS (SELECT FROM oneroof.governance_finding AS f WHERE f.issue_type = t.issue_type);
