-- Note that a recipient has seen signals: these, or with NULL so many of all that are unread. Each once, however many sessions say
-- so (promise 23). Answers how many were unread.
CREATE OR REPLACE FUNCTION oneroof.gov_inbox_read(p_recipient text, p_events uuid[], p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
SET work_mem = '32MB'
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  stray uuid;
  noted bigint;
BEGIN
  PERFORM oneroof.gov_recipient_require(p_recipient);
  PERFORM oneroof.gov_inbox_lock(p_recipient);
  stray := (SELECT e FROM unnest(p_events) AS e
            WHERE e NOT IN (SELECT i.event_id FROM oneroof.v_inbox AS i WHERE i.recipient_ref = p_recipient AND i.event_id = ANY (p_events))
            ORDER BY e LIMIT 1);
  IF stray IS NOT NULL THEN
    PERFORM oneroof.gov_refuse(format('the event %s is not in the inbox of %s', stray, p_recipient)::text,
                              format('oneroof inbox list %s --all', p_recipient)::text);
  END IF;
  INSERT INTO host.event_read (event_id, actor_ref, read_at, read_status_source)
  SELECT DISTINCT i.event_id, p_recipient, at, 'oneroof' FROM oneroof.v_inbox AS i
  WHERE i.recipient_ref = p_recipient AND (p_events IS NULL OR i.event_id = ANY (p_events)) AND i.read_at IS NULL
  LIMIT p_most;
  GET DIAGNOSTICS noted = ROW_COUNT;
  IF noted > 0 THEN
    PERFORM oneroof.gov_audit_note('inbox'::text, p_recipient, format('read %s by %I', noted, session_user)::text);
  END IF;
  RETURN noted;
END
$$;
