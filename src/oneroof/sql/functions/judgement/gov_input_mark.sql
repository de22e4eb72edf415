-- Write the input state of some dirty candidates (doc 31 §5): that of the object, where something of its own is known, else of
-- its facts. One whose facts were not judged yet waits, and so does an object that was judged before its row changed. One that was
-- gone is back if its row was just applied, and that stays known: no silent resurrection (doc 31 §7). Answers how many were written or
-- are to be judged anew.
CREATE OR REPLACE FUNCTION oneroof.gov_input_mark(p_source text, p_most bigint) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
AS $$
  WITH picked AS MATERIALIZED (
    SELECT c.candidate_key, c.facts_hash,
           c.dirty_reason = ANY (oneroof.gov_applied_reasons()) AS is_applied
    FROM oneroof.governance_candidate_state AS c
    WHERE c.source_name = p_source AND c.dirty AND (c.input_quality_state = 'pending') = true
    LIMIT p_most FOR UPDATE SKIP LOCKED
  ), known AS MATERIALIZED (
    SELECT p.candidate_key, o.facts, o.input_state, o.judged_hash, o.is_dirty,
           p.is_applied IS TRUE AND (o.facts @> '{"state": {"gone": true}}' OR o.facts @> '{"state": {"vanished": true}}') AS is_outdated
    FROM picked AS p JOIN oneroof.governance_object AS o ON o.candidate_key = p.candidate_key
  ), back AS (
    UPDATE oneroof.governance_object AS o
    SET is_dirty = true,
        facts = CASE WHEN k.facts @> '{"state": {"gone": true}}'
                     THEN k.facts || jsonb_build_object('state', (k.facts -> 'state') || '{"gone": false, "vanished": false, "reborn": true}')
                     WHEN k.facts @> '{"state": {"vanished": true}}'
                     THEN k.facts || jsonb_build_object('state', (k.facts -> 'state') || '{"vanished": false}')
                     ELSE k.facts END
    FROM known AS k WHERE o.candidate_key = k.candidate_key AND k.is_outdated
    RETURNING 1
  ), told AS (
    UPDATE oneroof.governance_candidate_state AS c SET input_quality_state = j.input_state, updated_at = (SELECT oneroof.gov_now())
    FROM (SELECT p.candidate_key,
                 CASE WHEN o.candidate_key IS NULL THEN f.input_state WHEN NOT o.is_dirty AND NOT o.is_outdated AND o.judged_hash = p.facts_hash THEN o.input_state END AS input_state
          FROM picked AS p
          LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = p_source AND f.facts_hash = p.facts_hash AND NOT f.is_dirty
          LEFT JOIN known AS o ON o.candidate_key = p.candidate_key) AS j
    WHERE c.candidate_key = j.candidate_key AND j.input_state <> 'pending'
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM told) + (SELECT count(*) FROM back)
$$;
