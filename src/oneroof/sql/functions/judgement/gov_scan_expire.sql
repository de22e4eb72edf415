-- Verdicts whose time is over are stale until they are judged again (doc 31 §8). Answers how many became so.
CREATE OR REPLACE FUNCTION oneroof.gov_scan_expire(p_source text, p_most bigint) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
AS $$
  WITH picked AS MATERIALIZED (
    SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c
    -- The oldest alone says whether there is any, whatever the planner thinks of the rest.
    WHERE (SELECT min(o.stale_after) FROM oneroof.governance_candidate_state AS o) <= (SELECT oneroof.gov_now())
      AND c.stale_after <= (SELECT oneroof.gov_now()) AND c.source_name = p_source
    ORDER BY c.stale_after LIMIT p_most FOR UPDATE SKIP LOCKED
  ), expired AS (
    UPDATE oneroof.governance_candidate_state AS c
    SET verdict = 'stale', undecided_reason = NULL,
        -- What waits for the gate goes on waiting for it.
        input_quality_state = CASE c.input_quality_state WHEN 'pending' THEN 'pending' ELSE 'stale' END, stale_after = NULL, dirty = true, dirty_reason = coalesce(c.dirty_reason, 'ttl_expired'),
        dirtied_at = coalesce(c.dirtied_at, oneroof.gov_now()), updated_at = oneroof.gov_now()
    FROM picked AS p WHERE c.candidate_key = p.candidate_key
    RETURNING 1
  )
  SELECT count(*) FROM expired
$$;
