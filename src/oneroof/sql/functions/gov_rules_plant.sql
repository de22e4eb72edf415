-- At the first installation the shipped rules are the working copy and the active ruleset; later they are the host's own affair.
CREATE OR REPLACE FUNCTION public.gov_rules_plant(p_rules jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM public.governance_ruleset) AND NOT EXISTS (SELECT FROM public.governance_rule) THEN
    PERFORM public.gov_rules_import(p_rules);
    PERFORM public.gov_ruleset_activate(NULL::bigint, public.gov_ruleset_version());
  END IF;
END
$$;
