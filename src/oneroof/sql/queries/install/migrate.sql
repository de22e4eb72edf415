-- installed --
-- And whether this login may read it, which the table of tables tells without an error.
SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE'::pg_catalog.text) AND pg_catalog.has_table_privilege(c.oid, 'SELECT'::pg_catalog.text)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.relname OPERATOR(pg_catalog.=) 'governance_migration'::pg_catalog.name
  AND n.nspname OPERATOR(pg_catalog.=) 'oneroof'::pg_catalog.name

-- applied --
SELECT number, name, sha256 FROM oneroof.governance_migration

-- schema --
SELECT version, content_sha256, host_schema FROM oneroof.governance_schema
