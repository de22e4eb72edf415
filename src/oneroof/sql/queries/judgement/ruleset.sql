-- working --
SELECT rule_code, rule_kind, priority, scope, predicate::text AS predicate, verdict, undecided_reason, input_state, finding_type,
       severity, stale_after::text AS stale_after, enabled, description
FROM oneroof.governance_rule
ORDER BY pg_catalog.array_position(ARRAY['input', 'verdict', 'finding'], rule_kind), priority, rule_code COLLATE "C"

-- active --
SELECT rule_code, rule_kind, priority, scope, predicate::text AS predicate, verdict, undecided_reason, input_state, finding_type,
       severity, stale_after::text AS stale_after, true AS enabled, description
FROM oneroof.governance_ruleset_rule
WHERE ruleset_version = oneroof.gov_ruleset_active()
ORDER BY pg_catalog.array_position(ARRAY['input', 'verdict', 'finding'], rule_kind), priority, rule_code COLLATE "C"

-- import --
SELECT oneroof.gov_rules_import(%(rules)s::jsonb)

-- versions --
SELECT oneroof.gov_ruleset_version(), oneroof.gov_ruleset_active()

-- host --
-- How many detectors or axes of the host differ between the active ruleset and now.
SELECT count(*) FILTER (WHERE old.said IS NULL) AS added, count(*) FILTER (WHERE new.said IS NULL) AS removed
FROM (SELECT jsonb_array_elements(content -> %(part)s::text) AS said FROM oneroof.governance_ruleset WHERE retired_at IS NULL) AS old
FULL JOIN (SELECT jsonb_array_elements(oneroof.gov_ruleset_content() -> %(part)s::text) AS said) AS new ON new.said::text = old.said::text

-- example --
SELECT oneroof.gov_facts_example()

-- evaluate --
SELECT verdict, undecided_reason, rule_code, input_state, input_rule, finding_types, stale_after::text AS stale_after
FROM oneroof.gov_rules_evaluate(%(facts)s::jsonb[], %(version)s::text) ORDER BY ordinal
