-- Subscribe a recipient to signals of ours, all or those of a type or a stream, about a table, or whose payload has what the filter says
-- (doc 41 §41.8). The same twice is one. Answers the subscription, whether it is new, and whether it is muted.
CREATE OR REPLACE FUNCTION oneroof.gov_inbox_subscribe(
  p_recipient text, p_type text, p_stream text, p_table text, p_filter jsonb
) RETURNS TABLE (subscription_id uuid, is_new boolean, is_muted boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  scope CONSTANT jsonb := coalesce(p_filter, '{}');
BEGIN
  PERFORM oneroof.gov_recipient_require(p_recipient);
  IF p_type IS NOT NULL AND NOT EXISTS (SELECT FROM oneroof.governance_event_type AS t WHERE t.event_type = p_type) THEN
    PERFORM oneroof.gov_refuse(format('there is no event type %L', p_type)::text, 'oneroof events list'::text);
  END IF;
  IF p_stream IS NOT NULL AND NOT EXISTS (SELECT FROM oneroof.governance_event_type AS t WHERE t.event_stream = p_stream) THEN
    PERFORM oneroof.gov_refuse(
      format('there is no event stream %L', p_stream)::text,
      (SELECT string_agg(DISTINCT t.event_stream, ', ' ORDER BY t.event_stream) FROM oneroof.governance_event_type AS t)::text);
  END IF;
  IF p_table IS NOT NULL AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.relname = p_table AND c.relkind IN ('r', 'p', 'v', 'm', 'f')) THEN
    PERFORM oneroof.gov_refuse(format('there is no table %L', p_table)::text, 'its name alone, without a schema'::text);
  END IF;
  IF jsonb_typeof(scope) <> 'object' OR octet_length(scope::text) > 2048
     OR EXISTS (SELECT FROM jsonb_each(CASE WHEN jsonb_typeof(scope) = 'object' THEN scope ELSE '{}' END) AS f (key, value)
                WHERE jsonb_typeof(f.value) IN ('object', 'array')) THEN
    PERFORM oneroof.gov_refuse('a filter is an object of texts, numbers, true, false or null, of at most 2,048 bytes'::text,
                              '{"collection_name": "things"}'::text);
  END IF;
  -- A key that no such signal can have would be silence for ever.
  IF NOT EXISTS (SELECT FROM oneroof.governance_event_type AS t
                 WHERE (p_type IS NULL OR t.event_type = p_type) AND (p_stream IS NULL OR t.event_stream = p_stream)
                   AND t.payload_keys @> ARRAY(SELECT jsonb_object_keys(scope))) THEN
    PERFORM oneroof.gov_refuse(format('no such signal has all of %s', (SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(scope) AS k))::text,
                              'oneroof events list --json shows the payload_keys of each type'::text);
  END IF;
  PERFORM oneroof.gov_inbox_lock(p_recipient);
  SELECT s.id, false, s.mute INTO subscription_id, is_new, is_muted FROM host.event_subscription AS s
  WHERE s.recipient_ref = p_recipient AND s.event_domain = 'governance' AND s.scope_filter = scope
    AND (s.event_type, s.event_stream, s.scope_subject_table) IS NOT DISTINCT FROM (p_type, p_stream, p_table)
  ORDER BY s.mute, s.created_at, s.id LIMIT 1;
  IF NOT FOUND THEN
    subscription_id := gen_random_uuid();
    is_new := true;
    is_muted := false;
    INSERT INTO host.event_subscription
      (id, recipient_ref, event_domain, event_type, event_stream, scope_subject_table, scope_filter, mute, created_at)
    VALUES (subscription_id, p_recipient, 'governance', p_type, p_stream, p_table, scope, false, at);
    INSERT INTO oneroof.governance_subscription VALUES (subscription_id, session_user, at);
    PERFORM oneroof.gov_audit_note('inbox'::text, p_recipient, format('subscribe %s by %I', subscription_id, session_user)::text);
  END IF;
  RETURN NEXT;
END
$$;
