-- One audit row for a batch of the intake that did something, or for a replay (doc 32 §2).
CREATE OR REPLACE FUNCTION public.gov_handoff_audit(p_source text, p_what text, p_seen bigint, p_marked bigint) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT public.gov_audit('handoff'::text, p_source,
    format('%s seen=%s marked=%s', CASE p_what WHEN 'replay' THEN 'replay' ELSE 'take' END, p_seen, p_marked)::text)
$$;
