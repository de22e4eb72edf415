-- The reasons of a dirty mark that mean: its row was just applied, or is there again. Without arguments, so that whoever asks for
-- it asks once, when his plan is made.
CREATE OR REPLACE FUNCTION oneroof.gov_applied_reasons() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT '{source_row_changed,source_row_reborn,audit_drift,audit_successor}'::text[]
$$;
