-- Dead letters, and what was resolved too early, get one more attempt, at once. Answers how many.
CREATE OR REPLACE FUNCTION oneroof.gov_retry_replay(p_items bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  woken bigint;
BEGIN
  UPDATE oneroof.governance_retry SET state = 'waiting', next_attempt_at = at, updated_at = at
  WHERE item_id = ANY (p_items) AND state IN ('dead', 'resolved');
  GET DIAGNOSTICS woken = ROW_COUNT;
  IF woken > 0 THEN
    UPDATE host.event_pending AS e
    SET event_type_hint = 'cursor_retry', processed_at = NULL, capture_payload = e.capture_payload || jsonb_build_object('state', 'waiting')
    FROM oneroof.governance_retry AS r
    WHERE r.item_id = ANY (p_items) AND r.state = 'waiting' AND e.actor_ref = 'oneroof'
      AND e.capture_payload ->> 'item_id' = r.item_id::text;
    PERFORM oneroof.gov_retry_note_objects(p_items);
    PERFORM oneroof.gov_audit_note('dead_letter'::text, array_to_string(p_items[1:20], ',')::text, 'replay'::text);
  END IF;
  RETURN woken;
END
$$;
