-- installed --
SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
               WHERE c.relname OPERATOR(pg_catalog.=) 'governance_migration'::pg_catalog.name
                 AND n.nspname OPERATOR(pg_catalog.=) 'oneroof'::pg_catalog.name)

-- applied --
SELECT number, name, sha256 FROM oneroof.governance_migration

-- schema --
SELECT version, content_sha256, host_schema FROM oneroof.governance_schema
