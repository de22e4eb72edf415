-- Set columns of a worker's policy from their text; the types and CHECKs of the table decide what is a value, and a wrong
-- one is named in one sentence. Pausing has a function of its own. Answers whether that changed anything.
CREATE OR REPLACE FUNCTION oneroof.gov_policy_set(p_worker text, p_values jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  before oneroof.governance_worker_policy;
  after oneroof.governance_worker_policy;
  name text;
  value jsonb;
  broken text;
BEGIN
  SELECT * INTO before FROM oneroof.governance_worker_policy WHERE worker_name = p_worker FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM oneroof.gov_refuse(format('there is no worker %L', p_worker)::text, 'oneroof policy list'::text);
  END IF;
  after := before;
  FOR name, value IN SELECT * FROM jsonb_each(p_values) LOOP
    IF name IN ('worker_name', 'paused_at', 'paused_by') OR NOT to_jsonb(before) ? name THEN
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('a policy has no %s that could be set', name);
    END IF;
    BEGIN
      after := jsonb_populate_record(after, jsonb_build_object(name, value));
    EXCEPTION WHEN data_exception THEN
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
        MESSAGE = format('%s cannot be %s: %s', name, value #>> '{}', SQLERRM);
    END;
  END LOOP;
  IF after IS NOT DISTINCT FROM before THEN
    RETURN false;
  END IF;
  BEGIN
    UPDATE oneroof.governance_worker_policy
    SET batch_size = after.batch_size, rows_per_second = after.rows_per_second, off_peak_from = after.off_peak_from,
        off_peak_to = after.off_peak_to, sweep_interval = after.sweep_interval, lease_ttl = after.lease_ttl,
        attempts = after.attempts, backoff_first = after.backoff_first, backoff_most = after.backoff_most,
        dlq_limit = after.dlq_limit, lag_limit = after.lag_limit, lock_wait_limit = after.lock_wait_limit,
        replication_lag_limit = after.replication_lag_limit, error_limit = after.error_limit,
        coalesce_window = after.coalesce_window, digest_after = after.digest_after, digest_interval = after.digest_interval,
        heartbeat_interval = after.heartbeat_interval, storm_share = after.storm_share, storm_changes = after.storm_changes
    WHERE worker_name = p_worker;
  EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('of %s this must hold: %s', p_worker,
      (SELECT pg_get_expr(c.conbin, c.conrelid) FROM pg_catalog.pg_constraint AS c
       WHERE c.conrelid = 'oneroof.governance_worker_policy'::regclass AND c.conname = broken));
  WHEN not_null_violation THEN
    GET STACKED DIAGNOSTICS broken = COLUMN_NAME;
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('%s cannot be empty', broken);
  END;
  PERFORM oneroof.gov_audit_note('policy'::text, p_worker,
    format('set %s by %I', (SELECT string_agg(k || '=' || coalesce(to_jsonb(after) ->> k, ''), ' ' ORDER BY k)
                            FROM jsonb_object_keys(p_values) AS k), session_user)::text);
  RETURN true;
END
$$;
