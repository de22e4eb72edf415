-- columns --
SELECT c.relname::text, a.attname::text, pg_catalog.format_type(a.atttypid, NULL), a.attnotnull,
       a.atthasdef OR a.attidentity <> '' -- a generated column has a default too
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = %(schema)s::text)
  AND c.relname = ANY (%(tables)s::text[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
