DROP TABLE oneroof.governance_untold;
DROP TABLE oneroof.governance_handoff;
DROP TABLE oneroof.governance_group_mark;
DROP TABLE oneroof.governance_register_row;
