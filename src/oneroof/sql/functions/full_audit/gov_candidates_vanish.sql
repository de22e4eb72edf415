-- Rows that candidates were made from and that are not there now, as the gate finds them: held as vanished until the audit decides
-- (doc 31 §6).
CREATE OR REPLACE FUNCTION oneroof.gov_candidates_vanish(p_source text, p_source_keys text[]) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT oneroof.gov_objects_vanish(p_source, ARRAY(
    SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c
    WHERE c.source_name = p_source AND c.dirty AND c.source_key = ANY (p_source_keys)))
$$;
