DROP TABLE oneroof.governance_worker_policy;
