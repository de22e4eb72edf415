DELETE FROM oneroof.governance_source WHERE source_name = 'governance_ruleset';
DROP TABLE oneroof.governance_object;
DROP TABLE oneroof.governance_class;
DROP TABLE oneroof.governance_fact_set;
DROP TABLE oneroof.governance_ruleset_rule;
DROP TABLE oneroof.governance_ruleset;
DROP TABLE oneroof.governance_rule;
DROP TABLE oneroof.governance_finding_type;
