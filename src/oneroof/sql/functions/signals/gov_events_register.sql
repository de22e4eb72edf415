-- Register types of the vocabulary with the host, inactive (doc 41 §41.4: the pattern of the mother domain); NULL means all of them.
-- What is registered is left as it is. Answers the types that are new.
CREATE OR REPLACE FUNCTION oneroof.gov_events_register(p_types text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  unknown CONSTANT text := (SELECT min(n.name) FROM unnest(p_types) AS n (name)
                            WHERE NOT EXISTS (SELECT FROM oneroof.governance_event_type AS t WHERE t.event_type = n.name));
  made text[];
BEGIN
  IF unknown IS NOT NULL THEN
    PERFORM oneroof.gov_refuse(format('there is no event type %L', unknown)::text, 'oneroof events list'::text);
  END IF;
  -- The host may have no key on (event_domain, event_type): one registers at a time.
  PERFORM pg_advisory_xact_lock(hashtextextended('oneroof.events.register', 0));
  WITH new AS (
    INSERT INTO host.event_type_registry (event_domain, event_type, event_stream, delivery_lane, default_severity, description, active)
    SELECT 'governance', t.event_type, t.event_stream, t.delivery_lane, t.default_severity, t.description, false
    FROM oneroof.governance_event_type AS t
    WHERE (p_types IS NULL OR t.event_type = ANY (p_types))
      AND NOT EXISTS (SELECT FROM host.event_type_registry AS r WHERE r.event_domain = 'governance' AND r.event_type = t.event_type)
    ORDER BY t.event_type
    RETURNING event_type
  )
  SELECT coalesce(array_agg(n.event_type ORDER BY n.event_type), '{}') INTO made FROM new AS n;
  IF made <> '{}' THEN
    PERFORM oneroof.gov_audit_note('event'::text, CASE cardinality(made) WHEN 1 THEN made[1] ELSE format('%s types', cardinality(made)) END::text,
                             'register'::text);
  END IF;
  RETURN made;
END
$$;
