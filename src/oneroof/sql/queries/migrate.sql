-- applied --
SELECT number, name, sha256 FROM public.governance_migration

-- schema --
SELECT version, content_sha256 FROM public.governance_schema
