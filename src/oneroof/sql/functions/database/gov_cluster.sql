-- Which cluster this is. Roles belong to one, so whoever was linked in another is nobody here.
CREATE OR REPLACE FUNCTION oneroof.gov_cluster() RETURNS bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT system_identifier FROM pg_control_system()
$$;
