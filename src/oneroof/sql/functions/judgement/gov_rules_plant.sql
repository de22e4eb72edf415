-- At the first installation the shipped rules are the working copy and the active ruleset; later they are the host's own affair.
CREATE OR REPLACE FUNCTION oneroof.gov_rules_plant(p_rules jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM oneroof.governance_ruleset) AND NOT EXISTS (SELECT FROM oneroof.governance_rule) THEN
    PERFORM oneroof.gov_rules_import(p_rules);
    PERFORM oneroof.gov_ruleset_activate(NULL::bigint, oneroof.gov_ruleset_version());
  END IF;
END
$$;
