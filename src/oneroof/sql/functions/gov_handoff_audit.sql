-- One audit row for a batch of the intake that did something (doc 32 §2).
CREATE OR REPLACE FUNCTION public.gov_handoff_audit(p_source text, p_seen bigint, p_marked bigint) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT public.gov_audit('handoff'::text, p_source, format('take seen=%s marked=%s', p_seen, p_marked)::text)
$$;
