DROP TABLE oneroof.governance_retry;
