-- The types that may be emitted and of which something is held, so that it is about to be promoted.
CREATE OR REPLACE FUNCTION oneroof.gov_events_promotable() RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
SET enable_sort = off
AS $$
BEGIN
  RETURN ARRAY(
    SELECT t.event_type FROM oneroof.governance_event_type AS k
    -- Of each type the first is enough; the planner, unless it is told which, would rather read all of them.
    CROSS JOIN LATERAL (SELECT FROM oneroof.governance_event AS h WHERE h.state = 'held' AND h.event_type = k.event_type
                        ORDER BY h.held_batch, h.held_place LIMIT 1) AS h
    JOIN oneroof.v_event_type AS t ON t.event_type = k.event_type
    WHERE t.is_active);
END
$$;
