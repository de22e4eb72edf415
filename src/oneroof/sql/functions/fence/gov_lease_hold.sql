-- The fence and the tick in one: every batch's transaction calls this first, and keeps the lock until it commits. A worker
-- that lost its lease (stopped, cut off, paused) cannot get past it, and so commits nothing (promise 7). A tick is written when
-- the last one is no longer fresh: the host's table may have no index, and hundreds of dead versions a second would be in everybody's way.
CREATE OR REPLACE FUNCTION oneroof.gov_lease_hold(p_executor text, p_owner text, p_status text, p_fresh interval) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  is_fresh boolean;
BEGIN
  PERFORM FROM oneroof.governance_lease WHERE executor_name = p_executor FOR UPDATE;
  SELECT h.last_tick_status = p_status AND h.last_tick_at BETWEEN at - p_fresh AND at INTO is_fresh
  FROM host.queue_heartbeat AS h WHERE h.executor_name = p_executor AND h.lease_owner = p_owner;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the lease of % was lost', p_executor USING ERRCODE = 'GV409', HINT = 'another instance has taken over';
  END IF;
  IF is_fresh IS NOT TRUE THEN
    UPDATE host.queue_heartbeat
    SET last_tick_at = at, last_tick_status = p_status, ticks_total = ticks_total + 1, updated_at = at
    WHERE executor_name = p_executor AND lease_owner = p_owner;
  END IF;
END
$$;
