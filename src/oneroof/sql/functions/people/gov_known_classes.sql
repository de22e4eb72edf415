-- The classes that the host's registries name, and those that have a recorded owner. A function and not a part of the
-- view that asks for them, since a view would keep the host from altering its tables.
CREATE OR REPLACE FUNCTION oneroof.gov_known_classes() RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER ROWS 200
SET search_path = pg_catalog, pg_temp
AS $$
  -- Columns of different collations have none in common, and nothing of ours depends on the host's.
  SELECT c.collection_name::text COLLATE "default" FROM host.collection_registry AS c WHERE c.collection_name IS NOT NULL
  UNION SELECT m.entity_type::text COLLATE "default" FROM host.meta_catalog AS m WHERE m.entity_type IS NOT NULL
  UNION SELECT o.subject FROM oneroof.governance_object_ownership AS o WHERE o.level IN ('collection', 'class')
$$;
