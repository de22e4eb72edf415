-- The reasons of a dirty mark that mean: its row was just applied, or is there again. Without arguments, so that a
-- statement evaluates it once, when its plan is made.
CREATE OR REPLACE FUNCTION oneroof.gov_applied_reasons() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT '{source_row_changed,source_row_reborn,audit_drift,audit_successor}'::text[]
$$;
