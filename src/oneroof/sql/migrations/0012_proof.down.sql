DROP TABLE oneroof.governance_certificate;
