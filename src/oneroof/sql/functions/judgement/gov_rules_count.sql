-- What each rule of a ruleset does with these facts: of how many it is asked, how many it matches, and how many it decides, which
-- is nothing where every match counts. NULL is the active ruleset, 'working' the working copy. A finding rule is asked with what
-- was decided beside the facts, as in an evaluation.
CREATE OR REPLACE FUNCTION oneroof.gov_rules_count(p_facts jsonb[], p_version text)
RETURNS TABLE (rule_code text, in_scope bigint, matches bigint, decides bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
  WITH rule AS MATERIALIZED (
    SELECT r.rule_code, r.rule_kind, r.scope, r.predicate FROM oneroof.gov_rules_of(p_version) AS r
  ), judged AS MATERIALIZED (
    SELECT e.ordinal, e.verdict, e.undecided_reason, e.rule_code, e.input_state, e.input_rule
    FROM oneroof.gov_rules_evaluate(p_facts, p_version) AS e
  ), fact AS MATERIALIZED (
    SELECT f.facts, f.facts || jsonb_build_object('decided', jsonb_build_object(
             'verdict', j.verdict, 'input_state', j.input_state, 'undecided_reason', j.undecided_reason)) AS facts_decided
    FROM unnest(p_facts) WITH ORDINALITY AS f (facts, place) JOIN judged AS j ON j.ordinal = f.place
  ), asked AS (
    SELECT r.rule_code, oneroof.gov_rule_asks(f.facts, r.scope) AS is_asked,
           oneroof.gov_rule_matches(f.facts, r.scope, r.predicate) AS is_match
    FROM rule AS r CROSS JOIN fact AS f WHERE r.rule_kind <> 'finding'
    UNION ALL
    SELECT r.rule_code, oneroof.gov_rule_asks(f.facts_decided, r.scope),
           oneroof.gov_rule_matches(f.facts_decided, r.scope, r.predicate)
    FROM rule AS r CROSS JOIN fact AS f WHERE r.rule_kind = 'finding'
  ), counted AS (
    SELECT a.rule_code, count(*) FILTER (WHERE a.is_asked) AS in_scope, count(*) FILTER (WHERE a.is_match) AS matches
    FROM asked AS a GROUP BY a.rule_code
  ), decided AS (
    SELECT d.rule_code, count(*) AS decides
    FROM judged AS j CROSS JOIN LATERAL (VALUES (j.rule_code), (j.input_rule)) AS d (rule_code) GROUP BY d.rule_code
  )
  SELECT r.rule_code, coalesce(c.in_scope, 0), coalesce(c.matches, 0),
         CASE WHEN r.rule_kind <> 'finding' THEN coalesce(d.decides, 0) END
  FROM rule AS r LEFT JOIN counted AS c USING (rule_code) LEFT JOIN decided AS d USING (rule_code)
$$;
