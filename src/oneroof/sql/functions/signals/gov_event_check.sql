-- Could these types be activated? The content lists them in order; the subject is the first, and how many more.
CREATE OR REPLACE FUNCTION oneroof.gov_event_check(p_subject text, p_content jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  types text[];
  missing text;
BEGIN
  IF jsonb_typeof(p_content -> 'event_types') = 'array' THEN
    types := ARRAY(SELECT DISTINCT n FROM jsonb_array_elements_text(p_content -> 'event_types') AS n ORDER BY n);
  END IF;
  IF coalesce(cardinality(types), 0) = 0 OR p_content <> jsonb_build_object('event_types', to_jsonb(types)) OR p_subject IS DISTINCT FROM
     (CASE cardinality(types) WHEN 1 THEN types[1] ELSE format('%s and %s more', types[1], cardinality(types) - 1) END) THEN
    PERFORM oneroof.gov_refuse('an activation lists its event types in order, each once'::text, 'oneroof events activate TYPE --reason …'::text);
  END IF;
  missing := (SELECT min(n) FROM unnest(types) AS n WHERE NOT EXISTS (SELECT FROM oneroof.governance_event_type AS t WHERE t.event_type = n));
  IF missing IS NOT NULL THEN
    PERFORM oneroof.gov_refuse(format('there is no event type %L', missing)::text, 'oneroof events list'::text);
  END IF;
  missing := (SELECT min(t.event_type) FROM oneroof.v_event_type AS t WHERE t.event_type = ANY (types) AND NOT t.is_registered);
  IF missing IS NOT NULL THEN
    PERFORM oneroof.gov_refuse(format('%s is not registered', missing)::text, format('oneroof events register %s', missing)::text);
  END IF;
  IF NOT EXISTS (SELECT FROM oneroof.v_event_type AS t WHERE t.event_type = ANY (types) AND NOT t.is_active) THEN
    PERFORM oneroof.gov_refuse(format('%s is active already', p_subject)::text, 'oneroof events list'::text);
  END IF;
END
$$;
