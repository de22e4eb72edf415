-- Give some dirty candidates whose input was looked at their verdict (doc 31 §3 and §7). They are locked while it is done: a session
-- that dirties one meanwhile waits, and comes after. Answers how many had one.
CREATE OR REPLACE FUNCTION oneroof.gov_scan_apply(p_source text, p_most bigint) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
SET timezone = 'UTC'
AS $$
  WITH picked AS MATERIALIZED (
    SELECT c.candidate_key, c.facts_hash FROM oneroof.governance_candidate_state AS c
    WHERE c.source_name = p_source AND c.dirty AND (c.input_quality_state = 'pending') = false
    LIMIT p_most FOR UPDATE SKIP LOCKED
  ), judged AS (
    UPDATE oneroof.governance_candidate_state AS c
    SET verdict = j.verdict, undecided_reason = j.undecided_reason, input_quality_state = j.input_state, ruleset_version = j.ruleset_version,
        scan_time = j.at, stale_after = oneroof.gov_expiry_keep(c.stale_after, j.at, j.stale_after), dirty = false, dirty_reason = NULL, dirtied_at = NULL, updated_at = j.at,
        source_snapshot_ref = (SELECT max(s.snapshot_ref)::text FROM oneroof.governance_snapshot AS s WHERE s.source_name = p_source)
    FROM (SELECT p.candidate_key, (SELECT oneroof.gov_now()) AS at, x.*
          FROM picked AS p
          LEFT JOIN oneroof.governance_object AS o ON o.candidate_key = p.candidate_key
          LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = p_source AND f.facts_hash = p.facts_hash
          CROSS JOIN LATERAL (SELECT f.verdict, f.undecided_reason, f.input_state, f.ruleset_version, f.stale_after
                              WHERE o.candidate_key IS NULL AND NOT f.is_dirty
                              UNION ALL
                              SELECT o.verdict, o.undecided_reason, o.input_state, o.ruleset_version, o.stale_after
                              WHERE NOT o.is_dirty AND o.judged_hash = p.facts_hash) AS x) AS j
    WHERE c.candidate_key = j.candidate_key
    RETURNING 1
  )
  SELECT count(*) FROM judged
$$;
