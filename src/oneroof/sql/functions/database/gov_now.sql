-- The clock everything of ours reads. Plain here; the tests replace it with one they can set.
CREATE OR REPLACE FUNCTION oneroof.gov_now() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT clock_timestamp() $$;
