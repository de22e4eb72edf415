-- The version that the working copy would have: the hash of its content in jsonb's own canonical text.
CREATE OR REPLACE FUNCTION oneroof.gov_ruleset_version() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT encode(sha256(convert_to(oneroof.gov_ruleset_content()::text, 'UTF8')), 'hex')
$$;
