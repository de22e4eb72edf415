DROP TABLE oneroof.governance_lease;
DROP TABLE oneroof.gov_worker_cursor;
