-- Pause a worker wherever it runs, or let it go on (doc 39 §39.6). Answers whether that changed anything.
CREATE OR REPLACE FUNCTION oneroof.gov_worker_pause(p_worker text, p_paused boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  was_paused boolean;
BEGIN
  SELECT paused_at IS NOT NULL INTO was_paused FROM oneroof.governance_worker_policy WHERE worker_name = p_worker FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM oneroof.gov_refuse(format('there is no worker %L', p_worker)::text, 'oneroof policy list'::text);
  END IF;
  IF p_paused IS NULL OR was_paused = p_paused THEN
    RETURN false;
  END IF;
  UPDATE oneroof.governance_worker_policy
  SET paused_at = CASE WHEN p_paused THEN oneroof.gov_now() END, paused_by = CASE WHEN p_paused THEN session_user END
  WHERE worker_name = p_worker;
  PERFORM oneroof.gov_audit_note('worker'::text, p_worker,
                           format('%s by %I', CASE WHEN p_paused THEN 'pause' ELSE 'resume' END, session_user)::text);
  RETURN true;
END
$$;
