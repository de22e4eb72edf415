-- Which candidates the rows of open items are, as the rows say now: kept with the item, since nothing else leads from a row to its
-- candidate. One that another row stands for, or that never became a candidate, has none.
CREATE OR REPLACE FUNCTION oneroof.gov_retry_link_candidates(p_source text, p_keys text[], p_candidates text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
AS $$
DECLARE
  v_items bigint[];
BEGIN
  WITH known AS (
    UPDATE oneroof.governance_retry AS r SET candidate_key = c.candidate_key
    FROM unnest(p_keys, p_candidates) AS k (source_key, candidate_key)
    JOIN oneroof.governance_candidate_state AS c
      ON c.candidate_key = k.candidate_key AND c.source_name = p_source AND c.source_key = k.source_key
    WHERE r.key_mark = oneroof.gov_key_mark(k.source_key) AND r.source_key = k.source_key AND r.state IN ('waiting', 'dead')
      AND split_part(r.source_name, '#', 1) = p_source
    RETURNING r.item_id
  )
  SELECT array_agg(n.item_id) INTO v_items FROM known AS n;
  IF v_items IS NOT NULL THEN
    PERFORM oneroof.gov_retry_note_objects(v_items);
  END IF;
END
$$;
