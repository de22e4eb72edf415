DELETE FROM oneroof.governance_finding WHERE issue_type IN ('handoff_unregistered_type', 'issue_event_gap', 'direct_write', 'signal_refused');
DELETE FROM oneroof.governance_finding_type WHERE issue_type IN ('handoff_unregistered_type', 'issue_event_gap', 'direct_write', 'signal_refused');
DROP TABLE oneroof.governance_event_examined, oneroof.governance_subscription, oneroof.governance_event, oneroof.governance_event_activation, oneroof.governance_event_type;
DROP SEQUENCE oneroof.governance_event_batch;
