-- Tell some dirty candidates the state of their input (doc 31 §5): that of the object, where something of its own is known, else of
-- its facts. One whose facts nobody has judged yet waits. Answers how many were told.
CREATE OR REPLACE FUNCTION public.gov_gate_mark(p_source text, p_most bigint) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH picked AS MATERIALIZED (
    SELECT c.candidate_key, c.facts_hash FROM public.governance_candidate_state AS c
    WHERE c.source_name = p_source AND c.dirty AND (c.input_quality_state = 'pending') = true
    LIMIT p_most FOR UPDATE SKIP LOCKED
  ), told AS (
    UPDATE public.governance_candidate_state AS c SET input_quality_state = j.input_state, updated_at = (SELECT public.gov_now())
    FROM (SELECT p.candidate_key, CASE WHEN o.candidate_key IS NULL THEN f.input_state WHEN NOT o.is_dirty AND o.judged_hash = p.facts_hash THEN o.input_state END AS input_state
          FROM picked AS p
          LEFT JOIN public.governance_fact_set AS f ON f.source_name = p_source AND f.facts_hash = p.facts_hash AND NOT f.is_dirty
          LEFT JOIN public.governance_object AS o ON o.candidate_key = p.candidate_key) AS j
    WHERE c.candidate_key = j.candidate_key AND j.input_state <> 'pending'
    RETURNING 1
  )
  SELECT count(*) FROM told
$$;
