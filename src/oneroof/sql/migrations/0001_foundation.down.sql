DROP TABLE governance_gate_opening;
DROP TABLE governance_gate;
DROP TABLE governance_request;
DROP TABLE governance_person_login;
DROP TABLE governance_person;
DROP TABLE governance_schema;
DROP TABLE governance_migration;
