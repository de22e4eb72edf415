DROP TABLE oneroof.governance_schema;
DROP TABLE oneroof.governance_migration;
