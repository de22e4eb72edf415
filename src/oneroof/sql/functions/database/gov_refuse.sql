-- Every refusal has one SQLSTATE, so that callers can tell a no from a fault.
CREATE OR REPLACE FUNCTION oneroof.gov_refuse(p_message text, p_hint text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF p_hint IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'GV403', MESSAGE = p_message;
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'GV403', MESSAGE = p_message, HINT = p_hint;
END
$$;
