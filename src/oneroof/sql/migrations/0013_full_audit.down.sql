DROP TABLE oneroof.governance_audit_count;
DROP TABLE oneroof.governance_audit_bucket;
DROP TABLE oneroof.governance_audit_facts;
