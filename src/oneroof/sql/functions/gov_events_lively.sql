-- The types that may be emitted and of which something is held, so that it is about to be promoted.
CREATE OR REPLACE FUNCTION public.gov_events_lively() RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM public.governance_event AS h WHERE h.state = 'held') THEN
    RETURN '{}'::text[];
  END IF;
  RETURN ARRAY(SELECT t.event_type FROM public.v_event_type AS t
               WHERE t.is_active
                 AND EXISTS (SELECT FROM public.governance_event AS h WHERE h.state = 'held' AND h.event_type = t.event_type));
END
$$;
