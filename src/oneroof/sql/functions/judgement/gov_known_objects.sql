-- Some of the single objects of which something of their own is known, with their whole facts, in the order of their keys, behind
-- the last that was read. As in judging them, only a row that is not there may lack its facts.
CREATE OR REPLACE FUNCTION oneroof.gov_known_objects(p_after text, p_most bigint)
RETURNS TABLE (candidate_key text, facts jsonb)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
  SELECT p.candidate_key, oneroof.gov_facts_of(p.source_name, coalesce(p.class, ''::text), coalesce(p.grain, 'governed'::text),
                                              coalesce(p.row_facts, '{}'::jsonb), k.facts, p.facts)
  FROM (SELECT o.candidate_key, o.facts, c.source_name, c.class, c.grain, c.row_facts
        FROM oneroof.governance_object AS o
        -- One look for each, since there may be a million candidates and a handful of these.
        CROSS JOIN LATERAL (
          SELECT n.source_name, f.class, f.grain, f.row_facts, f.facts_hash IS NOT NULL AS has_facts
          FROM oneroof.governance_candidate_state AS n
          LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = n.source_name AND f.facts_hash = n.facts_hash
          WHERE n.candidate_key = o.candidate_key LIMIT 1) AS c
        WHERE o.candidate_key > p_after AND o.facts <> '{}'::jsonb
          AND (c.has_facts OR o.facts @> '{"state": {"gone": true}}' OR o.facts @> '{"state": {"vanished": true}}')
        ORDER BY o.candidate_key LIMIT p_most) AS p
  LEFT JOIN oneroof.governance_class AS k ON k.source_name = p.source_name AND k.class = p.class
$$;
