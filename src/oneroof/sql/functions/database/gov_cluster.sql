-- Which cluster this is. Roles belong to one, so a login that was linked in another one is no person here.
CREATE OR REPLACE FUNCTION oneroof.gov_cluster() RETURNS bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT system_identifier FROM pg_control_system()
$$;
