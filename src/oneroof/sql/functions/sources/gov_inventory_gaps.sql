-- A class of the catalog whose registry is missing is an inventory gap, also while it has no object (doc 31 §2); where
-- there are objects the rules say so of them. Answers how many findings were opened or closed.
CREATE OR REPLACE FUNCTION oneroof.gov_inventory_gaps() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH gaps AS MATERIALIZED (
    SELECT 'meta_catalog:' || c.class AS subject, c.class FROM oneroof.gov_catalog_classes() AS c
    WHERE c.is_missing AND NOT EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.class = c.class)
  ), acts AS MATERIALIZED (
    SELECT g.subject, g.class, true AS is_gap FROM gaps AS g
    UNION ALL
    SELECT substr(f.coalesce_key, length(f.issue_type) + 2), NULL, false FROM oneroof.governance_finding AS f
    WHERE f.is_open AND f.issue_type = 'backfill_inventory_gap' AND starts_with(f.coalesce_key, 'backfill_inventory_gap:meta_catalog:')
      AND NOT EXISTS (SELECT FROM gaps AS g WHERE 'backfill_inventory_gap:' || g.subject = f.coalesce_key)
    ORDER BY 1
  )
  SELECT count(*) FILTER (WHERE CASE
           WHEN a.is_gap THEN oneroof.gov_finding_keep('backfill_inventory_gap'::text, a.subject,
                                format('the registry of class %s is not there', a.class)::text, jsonb_build_object('class', a.class))
           ELSE oneroof.gov_finding_clear('backfill_inventory_gap'::text, a.subject) END)
  FROM acts AS a
$$;
