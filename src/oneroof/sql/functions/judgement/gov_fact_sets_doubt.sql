-- Judge some sets of facts again, in the order of their hashes, behind the last that was looked at, and written since some xid if one
-- is given: what is stored of one and is not
-- what the active rules say is to be judged anew, and its members hear of it. Answers how many those were.
CREATE OR REPLACE FUNCTION oneroof.gov_fact_sets_doubt(p_source text, p_after bigint, p_most bigint, p_since text)
RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
  WITH picked AS MATERIALIZED (
    SELECT f.facts_hash, f.is_dirty, oneroof.gov_facts_of(f.source_name, f.class, f.grain, f.row_facts, k.facts, NULL::jsonb) AS facts
    FROM oneroof.governance_fact_set AS f
    LEFT JOIN oneroof.governance_class AS k ON k.source_name = f.source_name AND k.class = f.class
    WHERE f.source_name = p_source AND f.facts_hash > p_after AND (p_since IS NULL OR age(f.xmin) <= (SELECT age(p_since::xid)))
    ORDER BY f.facts_hash LIMIT p_most
  ), given AS MATERIALIZED (
    SELECT array_agg(p.facts_hash ORDER BY p.facts_hash) AS hashes, array_agg(p.facts ORDER BY p.facts_hash) AS facts
    FROM picked AS p WHERE NOT p.is_dirty
  ), judged AS MATERIALIZED (
    SELECT g.hashes[e.ordinal] AS facts_hash, e.*
    FROM given AS g CROSS JOIN LATERAL oneroof.gov_rules_evaluate(coalesce(g.facts, '{}'), NULL::text) AS e
  ), doubted AS (
    UPDATE oneroof.governance_fact_set AS f SET is_dirty = true
    FROM judged AS e
    WHERE f.source_name = p_source AND f.facts_hash = e.facts_hash AND NOT f.is_dirty
      AND (f.verdict, f.undecided_reason, f.rule_code, f.input_state, f.input_rule, f.finding_types, f.stale_after)
          IS DISTINCT FROM (e.verdict, e.undecided_reason, e.rule_code, e.input_state, e.input_rule, e.finding_types, e.stale_after)
    RETURNING 1
  )
  SELECT count(*) FROM doubted
$$;
