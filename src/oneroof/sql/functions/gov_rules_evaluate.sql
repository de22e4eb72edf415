-- Judge many facts at once under one ruleset: NULL is the active one, 'working' the working copy. The first matching rule
-- by priority decides the verdict, and so for the input state; then every finding rule is asked of the facts with what was
-- decided beside them. A missing field is false. What no rule decides is undecided, and is itself a finding.
CREATE OR REPLACE FUNCTION public.gov_rules_evaluate(p_facts jsonb[], p_version text)
RETURNS TABLE (ordinal bigint, verdict text, undecided_reason text, rule_code text, input_state text, input_rule text,
               finding_types text[], stale_after interval)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH rule AS MATERIALIZED (
    SELECT * FROM public.gov_rules_of(p_version)
  ), fact AS MATERIALIZED (
    SELECT f.place, f.facts FROM unnest(p_facts) WITH ORDINALITY AS f (facts, place)
  ), decider AS MATERIALIZED (
    SELECT DISTINCT ON (f.place, r.rule_kind) f.place, r.rule_kind, r.rule_code, r.verdict, r.undecided_reason, r.input_state, r.stale_after
    FROM fact AS f JOIN rule AS r ON r.rule_kind IN ('verdict', 'input') AND f.facts @> r.scope
      AND jsonb_path_match(f.facts, r.predicate, '{}'::jsonb, true)
    ORDER BY f.place, r.rule_kind, r.priority, r.rule_code COLLATE "C"
  ), decided AS MATERIALIZED (
    SELECT f.place, coalesce(v.verdict, 'undecided') AS verdict,
           CASE WHEN v.rule_code IS NULL THEN 'no_rule' ELSE v.undecided_reason END AS undecided_reason, v.rule_code, v.stale_after,
           coalesce(i.input_state, 'incomplete') AS input_state, i.rule_code AS input_rule,
           f.facts || jsonb_build_object('decided', jsonb_build_object(
             'verdict', coalesce(v.verdict, 'undecided'), 'input_state', coalesce(i.input_state, 'incomplete'),
             'undecided_reason', CASE WHEN v.rule_code IS NULL THEN 'no_rule' ELSE v.undecided_reason END)) AS facts
    FROM fact AS f
    LEFT JOIN decider AS v ON v.place = f.place AND v.rule_kind = 'verdict'
    LEFT JOIN decider AS i ON i.place = f.place AND i.rule_kind = 'input'
  ), finding AS (
    SELECT d.place, r.finding_type
    FROM decided AS d JOIN rule AS r ON r.rule_kind = 'finding' AND d.facts @> r.scope
      AND jsonb_path_match(d.facts, r.predicate, '{}'::jsonb, true)
    UNION ALL
    SELECT d.place, 'candidate_unknown' FROM decided AS d WHERE d.rule_code IS NULL OR d.input_rule IS NULL
  ), found AS (
    SELECT n.place, array_agg(DISTINCT n.finding_type ORDER BY n.finding_type) AS types FROM finding AS n GROUP BY n.place
  )
  SELECT d.place, d.verdict, d.undecided_reason, d.rule_code, d.input_state, d.input_rule, coalesce(n.types, '{}'), d.stale_after
  FROM decided AS d LEFT JOIN found AS n USING (place)
  ORDER BY d.place
$$;
