DROP TABLE oneroof.governance_open_span;
DROP TABLE oneroof.governance_open_row;
