-- registries --
-- What the catalog names as having the objects of its classes: the table, the kind of source that it is already, the columns of its
-- primary key, or of a unique index as short as there is, and the classes.
SELECT n.registry, k.oid::regclass::text, k.source_kind, k.key, n.classes
FROM (SELECT m.registry_collection::text COLLATE "default" AS registry,
             array_agg(DISTINCT m.entity_type::text COLLATE "default" ORDER BY m.entity_type::text COLLATE "default") AS classes
      FROM host.meta_catalog AS m
      WHERE m.registry_collection IS NOT NULL AND m.entity_type IS NOT NULL GROUP BY 1) AS n
LEFT JOIN LATERAL (
  SELECT c.oid, s.source_kind, (
    SELECT u.key FROM (
      SELECT i.indisprimary, array_agg(a.attname::text ORDER BY e.place) AS key, bool_and(a.attnotnull) AS is_whole
      FROM pg_catalog.pg_index AS i CROSS JOIN LATERAL unnest(i.indkey::int[]) WITH ORDINALITY AS e (attnum, place)
      JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = e.attnum
      WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND e.place <= i.indnkeyatts
      GROUP BY i.indexrelid, i.indisprimary) AS u
    WHERE u.is_whole ORDER BY u.indisprimary DESC, cardinality(u.key), u.key LIMIT 1) AS key
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_namespace AS p ON p.oid = c.relnamespace
  CROSS JOIN oneroof.governance_schema AS i
  LEFT JOIN oneroof.governance_source AS s ON s.relation = c.oid
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND (p.nspname = i.host_schema AND c.relname::text COLLATE "default" = n.registry OR (p.nspname || '.' || c.relname) COLLATE "default" = n.registry)
  ORDER BY p.nspname = i.host_schema DESC LIMIT 1) AS k ON true
ORDER BY n.registry
