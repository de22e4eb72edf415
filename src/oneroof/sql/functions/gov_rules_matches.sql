-- How many of these facts each rule of a ruleset matches, whichever rule would have decided: one that matches none or all
-- of what is known deserves a second look. A finding rule is asked after the verdict, as in gov_rules_evaluate.
CREATE OR REPLACE FUNCTION public.gov_rules_matches(p_facts jsonb[], p_version text) RETURNS TABLE (rule_code text, matched bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH fact AS MATERIALIZED (
    SELECT f.facts || jsonb_build_object('decided', jsonb_build_object(
             'verdict', e.verdict, 'input_state', e.input_state, 'undecided_reason', e.undecided_reason)) AS facts
    FROM unnest(p_facts) WITH ORDINALITY AS f (facts, place)
    JOIN public.gov_rules_evaluate(p_facts, p_version) AS e ON e.ordinal = f.place
  )
  SELECT r.rule_code, count(f.facts)
  FROM public.gov_rules_of(p_version) AS r
  LEFT JOIN fact AS f ON f.facts @> r.scope AND jsonb_path_match(f.facts, r.predicate, '{}'::jsonb, true)
  GROUP BY r.rule_code
$$;
