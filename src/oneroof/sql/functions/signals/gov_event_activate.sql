-- Make types active, on an approval just given. It only turns the switch: held events are promoted by the next look of the watch.
CREATE OR REPLACE FUNCTION oneroof.gov_event_activate(p_request bigint, p_content jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  types CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(p_content -> 'event_types'));
BEGIN
  -- Emits under way are waited for; all sessions take these rows in one order.
  PERFORM pg_advisory_xact_lock(hashtextextended('oneroof.events.emit', 0));
  PERFORM FROM host.event_type_registry AS r
  WHERE r.event_domain = 'governance' AND r.event_type = ANY (types) ORDER BY r.event_type FOR UPDATE;
  UPDATE host.event_type_registry AS r SET active = true
  WHERE r.event_domain = 'governance' AND r.event_type = ANY (types) AND NOT r.active;
  IF EXISTS (SELECT FROM oneroof.v_event_type AS t WHERE t.event_type = ANY (types) AND NOT t.is_active) THEN
    PERFORM oneroof.gov_refuse('something on this host changes event_type_registry as it is written: the types stay inactive'::text,
                              'look at the triggers of event_type_registry'::text);
  END IF;
  UPDATE oneroof.governance_event_activation SET deactivated_at = at, reason = 'activated anew'
  WHERE event_type = ANY (types) AND deactivated_at IS NULL;
  INSERT INTO oneroof.governance_event_activation (request_id, event_type, activated_at)
  SELECT p_request, n, at FROM unnest(types) AS n;
  PERFORM oneroof.gov_finding_clear(f.issue_type, ('gov_emit:' || n)::text)
  FROM unnest(types) AS n CROSS JOIN unnest(ARRAY['handoff_unregistered_type', 'issue_event_gap']) AS f (issue_type)
  WHERE EXISTS (SELECT FROM oneroof.governance_finding AS k WHERE k.coalesce_key = f.issue_type || ':gov_emit:' || n AND k.is_open);
  PERFORM oneroof.gov_audit_note('event'::text, n, 'activate'::text) FROM unnest(types) AS n;
END
$$;
