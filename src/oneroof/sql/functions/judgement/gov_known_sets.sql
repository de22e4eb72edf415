-- Some of the distinct facts that rows of any source have, whole, in the order of their hashes, behind the last that was read. A
-- hash is a die, so the first of them are a fair sample.
CREATE OR REPLACE FUNCTION oneroof.gov_known_sets(p_after_hash bigint, p_after_source text, p_most bigint)
RETURNS TABLE (facts_hash bigint, source_name text, facts jsonb)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
  SELECT p.facts_hash, p.source_name, oneroof.gov_facts_of(p.source_name, p.class, p.grain, p.row_facts, k.facts, NULL::jsonb)
  FROM (SELECT f.* FROM oneroof.governance_source AS s
        CROSS JOIN LATERAL (
          SELECT n.facts_hash, n.source_name, n.class, n.grain, n.row_facts FROM oneroof.governance_fact_set AS n
          WHERE n.source_name = s.source_name AND n.facts_hash >= p_after_hash
            AND (n.facts_hash, n.source_name) > (p_after_hash, p_after_source)
          ORDER BY n.facts_hash LIMIT p_most) AS f
        ORDER BY f.facts_hash, f.source_name LIMIT p_most) AS p
  LEFT JOIN oneroof.governance_class AS k ON k.source_name = p.source_name AND k.class = p.class
$$;
