-- Give leases back. Answers which of them still were ours. A batch of the same term that is still under way on a connection that was
-- lost keeps its lock, and a claim does not get past that.
CREATE OR REPLACE FUNCTION oneroof.gov_lease_release(p_executors text[], p_owners text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  v_ours text[];
BEGIN
  WITH given AS MATERIALIZED (
    SELECT g.executor, g.owner FROM unnest(p_executors, p_owners) AS g (executor, owner)
  ), released AS (
    UPDATE host.queue_heartbeat AS q SET lease_owner = NULL, updated_at = oneroof.gov_now()
    FROM given AS g WHERE q.executor_name = g.executor AND q.lease_owner = g.owner
    RETURNING q.executor_name
  )
  SELECT array_agg(r.executor_name) INTO v_ours FROM released AS r;
  RETURN coalesce(v_ours, '{}');
END
$$;
