-- Take a lease that nobody holds, or whose holder has not ticked for the whole TTL by the server's clock (doc 39 §39.6).
-- Answers whether it was had. A term is a fresh owner word, so that a ghost cannot renew its successor's lease.
CREATE OR REPLACE FUNCTION oneroof.gov_lease_claim(p_executor text, p_owner text, p_ttl interval) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  written bigint;
BEGIN
  INSERT INTO oneroof.governance_lease (executor_name) VALUES (p_executor) ON CONFLICT DO NOTHING;
  PERFORM FROM oneroof.governance_lease WHERE executor_name = p_executor FOR UPDATE;
  UPDATE host.queue_heartbeat
  SET lease_owner = p_owner, last_tick_at = at, last_tick_status = 'ok', ticks_total = ticks_total + 1, updated_at = at
  WHERE executor_name = p_executor AND (lease_owner IS NULL OR lease_owner = '' OR last_tick_at < at - p_ttl);
  GET DIAGNOSTICS written = ROW_COUNT;
  IF written > 0 THEN
    RETURN true;
  END IF;
  IF EXISTS (SELECT FROM host.queue_heartbeat WHERE executor_name = p_executor) THEN
    RETURN false;
  END IF;
  INSERT INTO host.queue_heartbeat
    (executor_name, executor_kind, last_tick_at, last_tick_status, ticks_total, lease_owner, metadata, created_at, updated_at)
  VALUES (p_executor, 'external_worker', at, 'ok', 1, p_owner, '{"system": "oneroof"}', at, at);
  RETURN true;
END
$$;
