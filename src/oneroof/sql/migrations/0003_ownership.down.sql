DROP TABLE oneroof.governance_exception;
DROP TABLE oneroof.governance_object_ownership;
DROP TABLE oneroof.governance_office;
