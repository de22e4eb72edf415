-- What is known of the objects whose rows these items are: that the last change of the row failed and is tried again, or is a dead
-- letter. The newest version that failed says so, until its item is over. An object that has no candidate is accounted by its item.
CREATE OR REPLACE FUNCTION oneroof.gov_retry_note_objects(p_items bigint[]) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
AS $$
  WITH wanted AS MATERIALIZED (
    SELECT DISTINCT ON (r.candidate_key) r.candidate_key, CASE l.state WHEN 'waiting' THEN 'retry' WHEN 'dead' THEN 'dead' END AS failed
    FROM oneroof.governance_retry AS r
    CROSS JOIN LATERAL (
      SELECT i.state, i.row_xid FROM oneroof.governance_retry AS i
      WHERE i.key_mark = r.key_mark AND i.source_key = r.source_key
        AND split_part(i.source_name, '#', 1) = split_part(r.source_name, '#', 1)
      ORDER BY i.row_xid DESC LIMIT 1) AS l
    WHERE r.item_id = ANY (p_items) AND r.candidate_key IS NOT NULL
    ORDER BY r.candidate_key, l.row_xid DESC
  ), told AS (
    INSERT INTO oneroof.governance_object AS o (candidate_key, facts)
    SELECT w.candidate_key, jsonb_build_object('state', jsonb_build_object('failed', w.failed)) FROM wanted AS w
    WHERE w.failed IS NOT NULL ORDER BY w.candidate_key
    ON CONFLICT (candidate_key) DO UPDATE
    SET facts = o.facts || jsonb_build_object('state', coalesce(o.facts -> 'state', '{}'::jsonb) || (excluded.facts -> 'state')), is_dirty = true
    WHERE o.facts #> '{state,failed}' IS DISTINCT FROM excluded.facts #> '{state,failed}'
  )
  UPDATE oneroof.governance_object AS o
  SET facts = (o.facts - 'state'::text) || CASE WHEN s.left_over = '{}'::jsonb THEN '{}'::jsonb ELSE jsonb_build_object('state', s.left_over) END,
      is_dirty = true
  FROM wanted AS w
  CROSS JOIN LATERAL (SELECT (k.facts -> 'state') - 'failed'::text AS left_over FROM oneroof.governance_object AS k
                      WHERE k.candidate_key = w.candidate_key AND k.facts #> '{state,failed}' IS NOT NULL) AS s
  WHERE w.failed IS NULL AND o.candidate_key = w.candidate_key
$$;
