-- Mute a recipient's subscriptions to signals of ours, or let them be heard again; with types, those of a type alone. Findings are not
-- touched (doc 41 §41.8). Answers how many there are, how many changed, and how many of those are of every domain.
CREATE OR REPLACE FUNCTION oneroof.gov_inbox_mute(
  p_recipient text, p_types text[], p_mute boolean
) RETURNS TABLE (matching bigint, changed bigint, wide bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  ids uuid[];
BEGIN
  PERFORM oneroof.gov_recipient_require(p_recipient);
  PERFORM oneroof.gov_inbox_lock(p_recipient);
  ids := ARRAY(SELECT s.subscription_id FROM oneroof.v_event_subscription AS s
               WHERE s.recipient_ref = p_recipient AND (p_types IS NULL OR s.event_type = ANY (p_types)));
  matching := cardinality(ids);
  WITH turned AS (
    UPDATE host.event_subscription AS s SET mute = p_mute
    WHERE s.id = ANY (ids) AND s.recipient_ref = p_recipient AND s.mute IS DISTINCT FROM p_mute
    RETURNING s.event_domain
  )
  SELECT count(*), count(*) FILTER (WHERE t.event_domain IS NULL) INTO changed, wide FROM turned AS t;
  IF changed > 0 THEN
    PERFORM oneroof.gov_audit_note('inbox'::text, p_recipient,
                             format('%s %s by %I', CASE WHEN p_mute THEN 'mute' ELSE 'unmute' END, changed, session_user)::text);
  END IF;
  RETURN NEXT;
END
$$;
