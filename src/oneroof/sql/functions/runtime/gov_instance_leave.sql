-- An instance stops: the others need not wait until it was not seen for a while.
CREATE OR REPLACE FUNCTION oneroof.gov_instance_leave(p_instance text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  DELETE FROM oneroof.governance_instance AS i WHERE i.instance = p_instance
$$;
