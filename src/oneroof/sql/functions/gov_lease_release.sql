-- Give a lease back, if it still is ours.
CREATE OR REPLACE FUNCTION oneroof.gov_lease_release(p_executor text, p_owner text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM FROM oneroof.governance_lease WHERE executor_name = p_executor FOR UPDATE;
  UPDATE host.queue_heartbeat SET lease_owner = NULL, updated_at = oneroof.gov_now()
  WHERE executor_name = p_executor AND lease_owner = p_owner;
  RETURN FOUND;
END
$$;
