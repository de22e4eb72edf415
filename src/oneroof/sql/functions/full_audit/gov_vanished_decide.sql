-- What becomes of the vanished (doc 31 §7): they are retired as tombstones, some at a time, unless too many of one group vanished at
-- once: more than a share of it, and not only a few. Those are held until two people let as many go. One whose row was just found to be
-- back, and of which the gate has not heard yet, is none of them. Answers how many were retired.
CREATE OR REPLACE FUNCTION oneroof.gov_vanished_decide(p_source text, p_share double precision, p_least bigint, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
AS $$
DECLARE
  v_retired bigint;
BEGIN
  WITH vanished AS MATERIALIZED (
    SELECT c.group_key, count(*) AS lost
    FROM oneroof.governance_object AS o
    JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key AND c.source_name = p_source
    WHERE o.facts @> '{"state": {"vanished": true}}'
      AND NOT (c.dirty AND coalesce(c.dirty_reason, '') = ANY (oneroof.gov_applied_reasons()))
    GROUP BY c.group_key
  ), buried AS (
    SELECT c.group_key, count(*) AS dead
    FROM oneroof.governance_object AS o
    JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key AND c.source_name = p_source
    WHERE o.facts @> '{"state": {"gone": true}}' AND EXISTS (SELECT FROM vanished AS v WHERE v.lost >= p_least)
    GROUP BY c.group_key
  ), many AS MATERIALIZED (
    SELECT v.group_key, v.lost, t.members - coalesce(b.dead, 0) AS members
    FROM vanished AS v
    LEFT JOIN buried AS b ON b.group_key = v.group_key
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(l.members), 0)::bigint AS members FROM oneroof.governance_ledger AS l
      WHERE l.source_name = p_source AND l.group_key = v.group_key
    ) AS t
    WHERE v.lost >= p_least AND v.lost > p_share * (t.members - coalesce(b.dead, 0))
  ), held AS (
    INSERT INTO oneroof.governance_vanishing AS g (source_name, group_key, held, members, held_at)
    SELECT p_source, m.group_key, m.lost, m.members, oneroof.gov_now() FROM many AS m ORDER BY m.group_key
    ON CONFLICT (source_name, group_key) DO UPDATE
    SET held = excluded.held, members = excluded.members, request_id = NULL, allowed = NULL, allowed_at = NULL
    -- As many as were let go, or fewer, may go.
    WHERE g.held <> excluded.held AND coalesce(g.allowed, 0) < excluded.held
  )
  DELETE FROM oneroof.governance_vanishing AS g
  WHERE g.source_name = p_source AND NOT EXISTS (SELECT FROM vanished AS v WHERE v.group_key = g.group_key)
    OR g.source_name = p_source AND g.allowed IS NULL AND NOT EXISTS (SELECT FROM many AS m WHERE m.group_key = g.group_key);

  WITH picked AS MATERIALIZED (
    SELECT c.candidate_key
    FROM oneroof.governance_object AS o
    JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key AND c.source_name = p_source
    WHERE o.facts @> '{"state": {"vanished": true}}'
      AND NOT (c.dirty AND coalesce(c.dirty_reason, '') = ANY (oneroof.gov_applied_reasons()))
      AND NOT EXISTS (SELECT FROM oneroof.governance_vanishing AS g
                      WHERE g.source_name = p_source AND g.group_key = c.group_key AND g.allowed IS NULL)
    ORDER BY c.candidate_key LIMIT p_most FOR UPDATE OF c
  ), marked AS (
    UPDATE oneroof.governance_candidate_state AS c
    SET dirty = true, dirty_reason = 'source_row_gone', dirtied_at = oneroof.gov_now(), input_quality_state = 'pending',
        updated_at = oneroof.gov_now()
    FROM picked AS p WHERE c.candidate_key = p.candidate_key
  ), retired AS (
    UPDATE oneroof.governance_object AS o
    SET facts = o.facts || jsonb_build_object('state', coalesce(o.facts -> 'state', '{}') || '{"vanished": false, "gone": true}'),
        is_dirty = true
    FROM picked AS p WHERE o.candidate_key = p.candidate_key
    RETURNING 1
  )
  SELECT count(*) INTO v_retired FROM retired;
  RETURN v_retired;
END
$$;
