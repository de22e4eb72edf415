-- Candidates whose rows are not there: vanished, which is undecided, until the audit retires them or holds them (doc 31 §7). Answers
-- how many.
CREATE OR REPLACE FUNCTION oneroof.gov_objects_vanish(p_source text, p_candidate_keys text[]) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
AS $$
  WITH lost AS MATERIALIZED (
    SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c
    WHERE c.source_name = p_source AND c.candidate_key = ANY (p_candidate_keys)
    ORDER BY c.candidate_key FOR UPDATE
  ), marked AS (
    UPDATE oneroof.governance_candidate_state AS c
    SET dirty = true, dirty_reason = 'source_row_vanished', dirtied_at = oneroof.gov_now(), input_quality_state = 'pending',
        updated_at = oneroof.gov_now()
    FROM lost AS l WHERE c.candidate_key = l.candidate_key
  ), known AS (
    INSERT INTO oneroof.governance_object AS o (candidate_key, facts)
    SELECT l.candidate_key, '{"state": {"vanished": true}}' FROM lost AS l ORDER BY l.candidate_key
    ON CONFLICT (candidate_key) DO UPDATE
    SET facts = o.facts || jsonb_build_object('state', coalesce(o.facts -> 'state', '{}') || '{"vanished": true}'), is_dirty = true
    RETURNING 1
  )
  SELECT count(*) FROM known
$$;
