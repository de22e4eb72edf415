-- Of these names the untrusted ones: neither a source that two people trust nor a worker of ours, which has a
-- policy and no table (doc 32 §7: untrusted, or unknown).
CREATE OR REPLACE FUNCTION oneroof.gov_sources_untrusted(p_names text[]) RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT ARRAY(
    SELECT n.name FROM (SELECT DISTINCT u FROM unnest(p_names) AS u WHERE u IS NOT NULL) AS n (name)
    LEFT JOIN oneroof.governance_source AS s ON s.source_name = n.name
    LEFT JOIN oneroof.governance_worker_policy AS w ON w.worker_name = n.name
    WHERE s.trusted_at IS NULL AND (s.source_name IS NOT NULL OR w.worker_name IS NULL))
$$;
