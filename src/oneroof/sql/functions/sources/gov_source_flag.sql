-- That something of a source is kept until two people trust it (doc 32 §7), as a finding, which their trust closes.
CREATE OR REPLACE FUNCTION oneroof.gov_source_flag(p_source text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT oneroof.gov_finding_keep('input_untrusted_source'::text, ('handoff:' || p_source)::text,
    format('the handoffs of %s are kept and not acted on: it was not declared trusted', p_source)::text,
    jsonb_build_object('source', p_source))
$$;
