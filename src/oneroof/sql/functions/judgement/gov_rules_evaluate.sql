-- Judge many facts at once under one ruleset: NULL is the active one, 'working' the working copy. The first matching rule
-- by priority decides the verdict, and so for the input state; then every finding rule is asked of the facts with what was
-- decided beside them. A missing field is false. What no rule decides is undecided, and is itself a finding. Of many facts
-- those that differ only in what no rule looks at are judged once; to find out what that is takes as long as to judge a hundred.
CREATE OR REPLACE FUNCTION oneroof.gov_rules_evaluate(p_facts jsonb[], p_version text)
RETURNS TABLE (ordinal bigint, verdict text, undecided_reason text, rule_code text, input_state text, input_rule text,
               finding_types text[], stale_after interval)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
  WITH rule AS MATERIALIZED (
    SELECT r.* FROM oneroof.gov_rules_of(p_version) AS r
  ), mention AS MATERIALIZED (
    SELECT * FROM oneroof.gov_rules_mentions(p_version) WHERE cardinality(p_facts) > 100
  ), given AS MATERIALIZED (
    SELECT f.place, f.facts, cardinality(p_facts) > 100 AND jsonb_typeof(f.facts) = 'object' AND jsonb_typeof(f.facts -> 'row') = 'object'
                             AND NOT EXISTS (SELECT FROM mention AS m WHERE m.section IS NULL) AS is_plain
    FROM unnest(p_facts) WITH ORDINALITY AS f (facts, place)
  ), spare AS MATERIALIZED (
    SELECT ARRAY(SELECT DISTINCT k.name FROM given AS g CROSS JOIN LATERAL jsonb_object_keys(g.facts) AS k (name)
                 WHERE g.is_plain AND k.name <> ALL (ARRAY(SELECT m.section FROM mention AS m WHERE m.section IS NOT NULL))) AS sections,
           ARRAY(SELECT DISTINCT k.name FROM given AS g CROSS JOIN LATERAL jsonb_object_keys(g.facts -> 'row') AS k (name)
                 WHERE g.is_plain AND NOT EXISTS (SELECT FROM mention AS m WHERE m.section = 'row' AND m.field IS NULL)
                   AND k.name <> ALL (ARRAY(SELECT m.field FROM mention AS m WHERE m.section = 'row' AND m.field IS NOT NULL))) AS fields
  ), fact AS MATERIALIZED (
    SELECT min(p.place) AS place, array_agg(p.place) AS places, p.facts
    FROM (SELECT g.place, CASE WHEN g.is_plain THEN jsonb_set(g.facts - s.sections, '{row}', (g.facts -> 'row') - s.fields)
                               ELSE g.facts END AS facts
          FROM given AS g CROSS JOIN spare AS s) AS p
    GROUP BY p.facts
  ), decider AS MATERIALIZED (
    SELECT DISTINCT ON (f.place, r.rule_kind) f.place, r.rule_kind, r.rule_code, r.verdict, r.undecided_reason, r.input_state, r.stale_after
    FROM fact AS f JOIN rule AS r ON r.rule_kind IN ('verdict', 'input') AND oneroof.gov_rule_matches(f.facts, r.scope, r.predicate)
    ORDER BY f.place, r.rule_kind, r.priority, r.rule_code COLLATE "C"
  ), decided AS MATERIALIZED (
    SELECT f.place, f.places, coalesce(v.verdict, 'undecided') AS verdict,
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
    FROM decided AS d JOIN rule AS r ON r.rule_kind = 'finding' AND oneroof.gov_rule_matches(d.facts, r.scope, r.predicate)
    UNION ALL
    SELECT d.place, 'candidate_unknown' FROM decided AS d WHERE d.rule_code IS NULL OR d.input_rule IS NULL
  ), found AS (
    SELECT n.place, array_agg(DISTINCT n.finding_type ORDER BY n.finding_type) AS types FROM finding AS n GROUP BY n.place
  )
  SELECT u.place, d.verdict, d.undecided_reason, d.rule_code, d.input_state, d.input_rule, coalesce(n.types, '{}'), d.stale_after
  FROM decided AS d LEFT JOIN found AS n USING (place) CROSS JOIN LATERAL unnest(d.places) AS u (place)
  ORDER BY u.place
$$;
