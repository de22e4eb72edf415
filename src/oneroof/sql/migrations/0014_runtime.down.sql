DROP TABLE oneroof.governance_instance;
DROP TABLE oneroof.governance_worker_policy;
