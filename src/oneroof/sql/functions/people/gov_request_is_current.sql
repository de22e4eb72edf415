-- Is what a request is bound to still as it was when it was made? A ruleset is bound to the hash of the rules, which cannot
-- change while this is decided.
CREATE OR REPLACE FUNCTION oneroof.gov_request_is_current(p_kind text, p_content jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF p_kind <> 'ruleset.activate' THEN
    RETURN true;
  END IF;
  LOCK TABLE oneroof.governance_rule IN SHARE MODE;
  RETURN p_content ->> 'ruleset_version' = oneroof.gov_ruleset_version();
END
$$;
