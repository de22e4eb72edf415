-- The parts of the facts that some rule of a ruleset looks at; all others cannot change what it says. A section without a
-- field is looked at whole, no section at all means everything. Only `row`, whose fields are the host's, is told field by field.
CREATE OR REPLACE FUNCTION oneroof.gov_rules_mentions(p_version text) RETURNS TABLE (section text, field text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH rule AS MATERIALIZED (
    SELECT r.scope, r.predicate::text AS said,
           regexp_replace(r.predicate::text, '"(\\.|[^"\\])*"', '""', 'g') AS bare
    FROM oneroof.gov_rules_of(p_version) AS r
  ), path AS (
    -- A quote within a text is escaped in the server's own form, so only accessors look like this.
    SELECT m.part[1] AS section, m.part[2] AS field
    FROM rule CROSS JOIN LATERAL regexp_matches(rule.said, '\$\."([^"\\]*)"(?:\."([^"\\]*)")?', 'g') AS m (part)
    UNION
    SELECT k.section, f.field
    FROM rule CROSS JOIN LATERAL jsonb_object_keys(rule.scope) AS k (section)
    LEFT JOIN LATERAL jsonb_object_keys(CASE jsonb_typeof(rule.scope -> k.section) WHEN 'object' THEN rule.scope -> k.section END) AS f (field)
      ON true
    UNION
    -- Any other use of the root: a wildcard, an index, the root itself, or a name with an escape in it.
    SELECT NULL, NULL FROM rule
    WHERE rule.bare ~ '\$(?!\."")' OR rule.said ~ '\$\."[^"\\]*\\' OR rule.said ~ '\$\."[^"\\]*"\."[^"\\]*\\'
  )
  SELECT DISTINCT p.section, CASE WHEN p.section = 'row' THEN p.field END FROM path AS p
$$;
