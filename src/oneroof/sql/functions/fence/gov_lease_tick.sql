-- Tick many leases that are not being worked on. Answers which of them still are ours: one that another instance has taken over
-- has another owner word, and is not ticked.
CREATE OR REPLACE FUNCTION oneroof.gov_lease_tick(p_executors text[], p_owners text[], p_statuses text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  v_ours text[];
BEGIN
  WITH ticked AS (
    UPDATE host.queue_heartbeat AS q
    SET last_tick_at = at, last_tick_status = g.status, ticks_total = q.ticks_total + 1, updated_at = at
    FROM unnest(p_executors, p_owners, p_statuses) AS g (executor, owner, status)
    WHERE q.executor_name = g.executor AND q.lease_owner = g.owner
    RETURNING q.executor_name
  )
  SELECT array_agg(t.executor_name) INTO v_ours FROM ticked AS t;
  RETURN coalesce(v_ours, '{}');
END
$$;
