-- Fact sets that do not make the hash they are kept under: their members are brought up to their rows, and the facts are learned
-- anew. Answers how many there were.
CREATE OR REPLACE FUNCTION oneroof.gov_fact_sets_forget(p_source text, p_hashes bigint[]) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH forgotten AS (
    DELETE FROM oneroof.governance_fact_set AS f WHERE f.source_name = p_source AND f.facts_hash = ANY (p_hashes) RETURNING 1
  )
  SELECT count(*) FROM forgotten
$$;
