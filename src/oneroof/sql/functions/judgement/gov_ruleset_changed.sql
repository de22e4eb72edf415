-- The rules that differ between two rulesets in anything that could change a verdict or a finding, with the scopes they had
-- and have: what must be judged anew when the second follows the first. A word of description is no such thing.
CREATE OR REPLACE FUNCTION oneroof.gov_ruleset_changed(p_old text, p_new text) RETURNS TABLE (rule_code text, scope jsonb)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH old AS (
    SELECT r.rule_code AS code, r.scope AS part, to_jsonb(r) - 'ruleset_version' - 'description' AS said
    FROM oneroof.governance_ruleset_rule AS r WHERE r.ruleset_version = p_old
  ), new AS (
    SELECT r.rule_code AS code, r.scope AS part, to_jsonb(r) - 'ruleset_version' - 'description' AS said
    FROM oneroof.governance_ruleset_rule AS r WHERE r.ruleset_version = p_new
  )
  SELECT DISTINCT coalesce(old.code, new.code), each.part
  FROM old FULL JOIN new ON new.code = old.code
  CROSS JOIN LATERAL (VALUES (old.part), (new.part)) AS each (part)
  WHERE old.said IS DISTINCT FROM new.said AND each.part IS NOT NULL
$$;
