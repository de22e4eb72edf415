-- A whole number, or NULL for a text that is none: as gov_moment.
CREATE OR REPLACE FUNCTION oneroof.gov_number(p_text text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN p_text::bigint;
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END
$$;
