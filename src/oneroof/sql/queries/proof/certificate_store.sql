-- may_store --
SELECT has_function_privilege('oneroof.gov_certificate_store(jsonb)', 'EXECUTE') AND NOT pg_is_in_recovery()

-- store --
SELECT oneroof.gov_certificate_store(%(certificate)s::jsonb)
