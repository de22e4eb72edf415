-- Make types inactive: one person is enough, as for closing a gate. Emits under way are waited for. Answers which were active.
CREATE OR REPLACE FUNCTION oneroof.gov_event_deactivate(p_types text[], p_reason text) RETURNS text[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  who CONSTANT text := oneroof.gov_require_person(ARRAY['operator', 'approver']::text[]);
  at CONSTANT timestamptz := oneroof.gov_now();
  unknown CONSTANT text := (SELECT min(n.name) FROM unnest(p_types) AS n (name)
                            WHERE NOT EXISTS (SELECT FROM oneroof.governance_event_type AS t WHERE t.event_type = n.name));
  ended text[];
BEGIN
  IF unknown IS NOT NULL THEN
    PERFORM oneroof.gov_refuse(format('there is no event type %L', unknown)::text, 'oneroof events list'::text);
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('oneroof.events.emit', 0));
  PERFORM FROM host.event_type_registry AS r
  WHERE r.event_domain = 'governance' AND r.event_type = ANY (p_types) ORDER BY r.event_type FOR UPDATE;
  WITH closed AS (
    UPDATE host.event_type_registry AS r SET active = false
    WHERE r.event_domain = 'governance' AND r.event_type = ANY (p_types) AND r.active
    RETURNING r.event_type
  )
  SELECT coalesce(array_agg(DISTINCT c.event_type ORDER BY c.event_type), '{}') INTO ended FROM closed AS c;
  UPDATE oneroof.governance_event_activation SET deactivated_at = at, deactivated_by = who, reason = p_reason
  WHERE event_type = ANY (p_types) AND deactivated_at IS NULL;
  PERFORM oneroof.gov_audit_note('event'::text, n, 'deactivate'::text) FROM unnest(ended) AS n;
  RETURN ended;
END
$$;
