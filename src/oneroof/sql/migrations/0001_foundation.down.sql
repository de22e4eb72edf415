DROP TABLE oneroof.governance_gate_opening;
DROP TABLE oneroof.governance_gate;
DROP TABLE oneroof.governance_request;
DROP TABLE oneroof.governance_person_login;
DROP TABLE oneroof.governance_person;
DROP TABLE oneroof.governance_schema;
DROP TABLE oneroof.governance_migration;
