-- These items are over, by an attempt or a later version of the row that went well (done) or by a person's word (resolved). Answers how many; the rows stay.
CREATE OR REPLACE FUNCTION oneroof.gov_retry_end(p_items bigint[], p_state text, p_resolution text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  ended bigint;
BEGIN
  UPDATE oneroof.governance_retry
  SET state = p_state, next_attempt_at = NULL, resolution = p_resolution, resolved_by = session_user, updated_at = at
  WHERE item_id = ANY (p_items) AND state IN ('waiting', 'dead');
  GET DIAGNOSTICS ended = ROW_COUNT;
  UPDATE host.event_pending AS e
  SET processed_at = at, capture_payload = e.capture_payload || jsonb_build_object('state', r.state)
  FROM oneroof.governance_retry AS r
  WHERE r.item_id = ANY (p_items) AND r.state IN ('done', 'resolved') AND e.processed_at IS NULL AND e.actor_ref = 'oneroof'
    AND e.capture_payload ->> 'item_id' = r.item_id::text;
  PERFORM oneroof.gov_retry_note_objects(p_items);
  RETURN ended;
END
$$;
