-- Raise findings of some populations that changed: one for each type and class, open while it has a member (doc 31 §10). Answers how many.
CREATE OR REPLACE FUNCTION oneroof.gov_findings_raise(p_source text, p_most bigint) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH picked AS MATERIALIZED (
    SELECT g.class, g.issue_type, g.population, g.samples FROM oneroof.governance_class_finding AS g
    WHERE g.source_name = p_source AND NOT g.is_told ORDER BY g.issue_type, g.class LIMIT p_most FOR UPDATE SKIP LOCKED
  ), told AS MATERIALIZED (
    SELECT p.class, p.issue_type,
           CASE WHEN p.population = 0 THEN oneroof.gov_finding_clear(p.issue_type, (p_source || ':' || p.class)::text)
                ELSE oneroof.gov_finding_raise(p.issue_type, (p_source || ':' || p.class)::text,
                       -- How many there are is in the details.
                       format('%s: %s', CASE p.class WHEN '' THEN p_source ELSE p.class END, t.description)::text,
                       jsonb_build_object('source', p_source, 'class', p.class, 'population', p.population, 'samples', p.samples)) END
    FROM picked AS p JOIN oneroof.governance_finding_type AS t ON t.issue_type = p.issue_type
  ), done AS (
    UPDATE oneroof.governance_class_finding AS g SET is_told = true FROM told AS d
    WHERE g.source_name = p_source AND g.class = d.class AND g.issue_type = d.issue_type
    RETURNING 1
  )
  SELECT count(*) FROM done
$$;
