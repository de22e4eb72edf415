-- Rows that candidates were made from and that are not there now: held as vanished until the audit decides (doc 31 §6).
CREATE OR REPLACE FUNCTION public.gov_candidates_vanish(p_source text, p_source_keys text[]) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH gone AS (
    INSERT INTO public.governance_object AS o (candidate_key, facts)
    SELECT c.candidate_key, '{"state": {"vanished": true}}'
    FROM public.governance_candidate_state AS c
    WHERE c.source_name = p_source AND c.dirty AND c.source_key = ANY (p_source_keys)
    ORDER BY c.candidate_key
    ON CONFLICT (candidate_key) DO UPDATE
    SET facts = o.facts || jsonb_build_object('state', coalesce(o.facts -> 'state', '{}') || '{"vanished": true}'), is_dirty = true
    RETURNING 1
  )
  SELECT count(*) FROM gone
$$;
