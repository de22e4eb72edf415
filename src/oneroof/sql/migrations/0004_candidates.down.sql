DROP TABLE oneroof.governance_verdict_history;
DROP TABLE oneroof.governance_ledger;
DROP TABLE oneroof.governance_duplicate;
DROP TABLE oneroof.governance_candidate_state;
