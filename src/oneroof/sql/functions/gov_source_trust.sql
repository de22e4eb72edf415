-- Let the rows of a source count (doc 32 §7), on an approval just given.
CREATE OR REPLACE FUNCTION public.gov_source_trust(p_source text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  UPDATE public.governance_source SET trusted_at = public.gov_now() WHERE source_name = p_source;
  PERFORM public.gov_audit('source'::text, p_source, 'trust'::text);
END
$$;
