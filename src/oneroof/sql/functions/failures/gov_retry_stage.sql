-- An item that failed alone leaves its batch through here: kept in event_pending, with its key beside it (doc 39 §39.7).
-- Answers false if this very version was staged before.
CREATE OR REPLACE FUNCTION oneroof.gov_retry_stage(p_worker text, p_source text, p_table text, p_key text, p_xid bigint,
                                                  p_sqlstate text, p_error text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  item bigint;
BEGIN
  -- Another worker's item of the same version, or another range's, is the same failure.
  IF EXISTS (SELECT FROM oneroof.governance_retry AS r
             WHERE r.key_mark = oneroof.gov_key_mark(p_key) AND r.row_xid = p_xid
               AND split_part(r.source_name, '#', 1) = split_part(p_source, '#', 1)) THEN
    RETURN false;
  END IF;
  INSERT INTO oneroof.governance_retry (worker_name, source_name, source_key, key_mark, row_xid, attempts, sqlstate, last_error)
  VALUES (p_worker, p_source, p_key, oneroof.gov_key_mark(p_key), p_xid, 0, p_sqlstate, p_error)
  ON CONFLICT (worker_name, source_name, key_mark, row_xid) DO NOTHING
  RETURNING item_id INTO item;
  IF item IS NULL THEN
    RETURN false;
  END IF;
  INSERT INTO host.event_pending
    (event_domain, event_type_hint, entity_table, entity_ref, canonical_address, actor_ref, capture_payload, error_count, last_error)
  VALUES ('governance', 'cursor_retry', p_table, p_key, left(p_source || ':' || p_key, 500), 'oneroof',
          jsonb_build_object('item_id', item, 'worker', p_worker, 'source', p_source, 'state', 'waiting'), 0, p_error);
  PERFORM oneroof.gov_retry_fail(ARRAY[item]::bigint[], p_sqlstate, p_error);
  RETURN true;
END
$$;
