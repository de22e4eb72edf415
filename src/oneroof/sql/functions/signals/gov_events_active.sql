-- Which of these types may be emitted at this moment, and until our transaction ends: a session that deactivates a type or closes the gate
-- waits for us (doc 41 §41.11: register before emit). Sharers of a row lock pass by a session that waits to have it alone; so there is
-- another lock before it, at which all sessions queue.
CREATE OR REPLACE FUNCTION oneroof.gov_events_active(p_types text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('oneroof.events.emit', 0));
  PERFORM FROM host.event_type_registry AS r
  WHERE r.event_domain = 'governance' AND r.event_type = ANY (p_types) ORDER BY r.event_type FOR SHARE;
  IF NOT oneroof.gov_gate_is_open('governance.emit_enabled'::text) THEN
    RETURN '{}'::text[];
  END IF;
  RETURN ARRAY(SELECT t.event_type FROM oneroof.v_event_type AS t WHERE t.event_type = ANY (p_types) AND t.is_active);
END
$$;
