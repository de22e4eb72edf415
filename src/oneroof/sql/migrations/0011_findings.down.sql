DROP TABLE oneroof.governance_class_finding;
DROP TABLE oneroof.governance_finding;
