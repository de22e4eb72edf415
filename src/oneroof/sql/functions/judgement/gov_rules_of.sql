-- The enabled rules of a ruleset: of the active one unless a version is given, or of the working copy.
CREATE OR REPLACE FUNCTION oneroof.gov_rules_of(p_version text)
RETURNS TABLE (rule_code text, rule_kind text, priority bigint, scope jsonb, predicate jsonpath, verdict text, undecided_reason text,
               input_state text, finding_type text, severity text, stale_after interval)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT r.rule_code, r.rule_kind, r.priority, r.scope, r.predicate, r.verdict, r.undecided_reason, r.input_state, r.finding_type,
         r.severity, r.stale_after
  FROM oneroof.governance_ruleset_rule AS r
  WHERE r.ruleset_version = coalesce(p_version, oneroof.gov_ruleset_active())
  UNION ALL
  SELECT w.rule_code, w.rule_kind, w.priority, w.scope, w.predicate, w.verdict, w.undecided_reason, w.input_state,
         w.finding_type, w.severity, w.stale_after
  FROM oneroof.governance_rule AS w WHERE p_version = 'working' AND w.enabled
$$;
