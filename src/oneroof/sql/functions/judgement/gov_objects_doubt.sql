-- The same of single objects of which something of their own is known. One whose row has just changed waits for the gate.
CREATE OR REPLACE FUNCTION oneroof.gov_objects_doubt(p_source text, p_after text, p_most bigint, p_since text) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
SET jit = off
AS $$
  WITH picked AS MATERIALIZED (
    SELECT o.candidate_key, c.facts_hash,
           oneroof.gov_facts_of(p_source, coalesce(f.class, ''::text), coalesce(f.grain, 'governed'::text), coalesce(f.row_facts, '{}'::jsonb),
                               k.facts, o.facts) AS facts
    FROM (SELECT n.*, n.xmin AS version FROM oneroof.governance_object AS n WHERE n.candidate_key > p_after ORDER BY n.candidate_key LIMIT p_most) AS o
    JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key AND c.source_name = p_source
    LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = p_source AND f.facts_hash = c.facts_hash
    LEFT JOIN oneroof.governance_class AS k ON k.source_name = p_source AND k.class = f.class
    WHERE NOT o.is_dirty AND (p_since IS NULL OR age(o.version) <= (SELECT age(p_since::xid))) AND NOT (c.dirty AND o.judged_hash IS DISTINCT FROM c.facts_hash)
      AND (f.facts_hash IS NOT NULL OR o.facts @> '{"state": {"gone": true}}' OR o.facts @> '{"state": {"vanished": true}}')
  ), given AS MATERIALIZED (
    SELECT array_agg(p.candidate_key ORDER BY p.candidate_key) AS keys, array_agg(p.facts ORDER BY p.candidate_key) AS facts,
           array_agg(p.facts_hash ORDER BY p.candidate_key) AS hashes
    FROM picked AS p
  ), judged AS MATERIALIZED (
    SELECT g.keys[e.ordinal] AS candidate_key, g.hashes[e.ordinal] AS facts_hash, e.*
    FROM given AS g CROSS JOIN LATERAL oneroof.gov_rules_evaluate(coalesce(g.facts, '{}'), NULL::text) AS e
  ), doubted AS (
    UPDATE oneroof.governance_object AS o SET is_dirty = true
    FROM judged AS e
    WHERE o.candidate_key = e.candidate_key AND NOT o.is_dirty
      AND (o.verdict, o.undecided_reason, o.rule_code, o.input_state, o.input_rule, o.finding_types, o.stale_after, o.judged_hash)
          IS DISTINCT FROM (e.verdict, e.undecided_reason, e.rule_code, e.input_state, e.input_rule, e.finding_types, e.stale_after, e.facts_hash)
    RETURNING 1
  )
  SELECT count(*) FROM doubted
$$;
