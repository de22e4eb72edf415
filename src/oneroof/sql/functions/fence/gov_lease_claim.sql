-- Take leases that nobody holds, or whose holder has not ticked for the whole TTL by the server's clock (doc 39 §39.6).
-- Answers which were had. A term is a fresh owner word, so that a ghost cannot renew its successor's lease. A lease whose row is
-- locked is in use at this moment, and is not waited for: many are claimed at once.
CREATE OR REPLACE FUNCTION oneroof.gov_lease_claim(p_executors text[], p_owners text[], p_ttl interval) RETURNS text[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  v_locked text[];
  v_had text[];
BEGIN
  INSERT INTO oneroof.governance_lease (executor_name)
  SELECT DISTINCT e.name FROM unnest(p_executors) AS e (name)
  WHERE NOT EXISTS (SELECT FROM oneroof.governance_lease AS l WHERE l.executor_name = e.name) ORDER BY 1
  ON CONFLICT DO NOTHING;
  v_locked := ARRAY(SELECT l.executor_name FROM oneroof.governance_lease AS l WHERE l.executor_name = ANY (p_executors)
                    ORDER BY 1 FOR UPDATE SKIP LOCKED);
  WITH given AS MATERIALIZED (
    SELECT g.executor, g.owner FROM unnest(p_executors, p_owners) AS g (executor, owner) WHERE g.executor = ANY (v_locked)
  ), taken AS (
    UPDATE host.queue_heartbeat AS q
    SET lease_owner = g.owner, last_tick_at = at, last_tick_status = 'ok', ticks_total = q.ticks_total + 1, updated_at = at
    FROM given AS g
    WHERE q.executor_name = g.executor AND (q.lease_owner IS NULL OR q.lease_owner = '' OR q.last_tick_at < at - p_ttl)
    RETURNING q.executor_name
  ), made AS (
    INSERT INTO host.queue_heartbeat
      (executor_name, executor_kind, last_tick_at, last_tick_status, ticks_total, lease_owner, metadata, created_at, updated_at)
    SELECT g.executor, 'external_worker', at, 'ok', 1, g.owner, '{"system": "oneroof"}', at, at
    FROM given AS g WHERE NOT EXISTS (SELECT FROM host.queue_heartbeat AS q WHERE q.executor_name = g.executor)
    RETURNING executor_name
  )
  SELECT array_agg(h.name) INTO v_had
  FROM (SELECT t.executor_name AS name FROM taken AS t UNION SELECT m.executor_name FROM made AS m) AS h;
  RETURN coalesce(v_had, '{}');
END
$$;
