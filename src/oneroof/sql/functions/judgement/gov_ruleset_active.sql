-- The version that verdicts are made under.
CREATE OR REPLACE FUNCTION oneroof.gov_ruleset_active() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT ruleset_version FROM oneroof.governance_ruleset WHERE retired_at IS NULL
$$;
