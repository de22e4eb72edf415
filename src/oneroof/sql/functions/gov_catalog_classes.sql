-- The classes of the host's catalog, and whether the registry that has their objects is missing (doc 31 §2). A function, since a view
-- would keep the host from altering its tables.
CREATE OR REPLACE FUNCTION public.gov_catalog_classes() RETURNS TABLE (class text, is_missing boolean)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT m.entity_type::text COLLATE "default",
         bool_and(NOT EXISTS (SELECT FROM pg_class AS r JOIN pg_namespace AS n ON n.oid = r.relnamespace
                              WHERE r.relkind IN ('r', 'p', 'v', 'm', 'f')
                                AND (n.nspname = 'public' AND r.relname::text COLLATE "default" = m.registry_collection::text COLLATE "default"
                                     OR n.nspname || '.' || r.relname = m.registry_collection::text COLLATE "default")))
  FROM public.meta_catalog AS m WHERE m.entity_type IS NOT NULL GROUP BY 1
$$;
