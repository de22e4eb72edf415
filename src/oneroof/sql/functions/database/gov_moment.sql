-- A moment, or NULL for a text that is none: for a caller that has to read on. It costs a subtransaction, so where all are believed to be good they
-- are cast.
CREATE OR REPLACE FUNCTION oneroof.gov_moment(p_text text) RETURNS timestamptz
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN p_text::timestamptz;
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END
$$;
