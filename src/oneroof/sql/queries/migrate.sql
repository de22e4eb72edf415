-- installed --
SELECT EXISTS (SELECT FROM pg_catalog.pg_class WHERE relname = 'governance_migration' AND relnamespace = 'public'::regnamespace)

-- applied --
SELECT number, name, sha256 FROM public.governance_migration

-- schema --
SELECT version, content_sha256 FROM public.governance_schema
