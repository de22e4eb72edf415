-- The classes of the host's catalog, and whether the registry that has their objects is missing (doc 31 §2). A function, since a view
-- would keep the host from altering its tables. The relations of a host, of which there may be many thousands, are listed once and
-- looked up by hashing.
CREATE OR REPLACE FUNCTION oneroof.gov_catalog_classes() RETURNS TABLE (class text, is_missing boolean)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
AS $$
  WITH relation AS MATERIALIZED (
    SELECT n.nspname::text COLLATE "default" AS schema, r.relname::text COLLATE "default" AS name
    FROM pg_class AS r JOIN pg_namespace AS n ON n.oid = r.relnamespace WHERE r.relkind IN ('r', 'p', 'v', 'm', 'f')
  ), known AS MATERIALIZED (
    SELECT r.schema || '.' || r.name AS name FROM relation AS r
    UNION
    SELECT r.name FROM relation AS r WHERE r.schema = (SELECT i.host_schema FROM oneroof.governance_schema AS i)
  )
  SELECT m.entity_type::text COLLATE "default", bool_and(k.name IS NULL)
  FROM host.meta_catalog AS m LEFT JOIN known AS k ON k.name = m.registry_collection::text COLLATE "default"
  WHERE m.entity_type IS NOT NULL GROUP BY 1
$$;
