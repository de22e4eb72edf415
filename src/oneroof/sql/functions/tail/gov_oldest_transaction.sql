-- When the oldest transaction that may still write here began, but no longer ago than the overlap: what an older one commits is
-- left to the frontier. NULL if a session does not show when it did: of others' sessions even the type is hidden from a role
-- that may not read all statistics, but not the database and the user, which no auxiliary process has.
CREATE OR REPLACE FUNCTION oneroof.gov_oldest_transaction(p_overlap interval) RETURNS timestamptz
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN coalesce(bool_and(state IS NOT NULL AND state <> 'disabled'), true)
              THEN greatest(coalesce(min(xact_start), clock_timestamp()), clock_timestamp() - p_overlap) END
  FROM pg_stat_get_activity(NULL)
  WHERE datid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND usesysid IS NOT NULL AND pid <> pg_backend_pid()
$$;
