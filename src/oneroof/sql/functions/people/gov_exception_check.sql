-- Could this exception be ratified as the request describes it?
CREATE OR REPLACE FUNCTION oneroof.gov_exception_check(p_subject text, p_content jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  found_state text;
BEGIN
  SELECT e.state INTO found_state FROM oneroof.v_exception AS e WHERE e.exception_id::text = p_subject;
  IF NOT FOUND THEN
    PERFORM oneroof.gov_refuse(format('there is no exception %L', p_subject)::text, 'oneroof exceptions list'::text);
  ELSIF found_state <> 'unratified' THEN
    PERFORM oneroof.gov_refuse(format('exception %s is %s', p_subject, found_state)::text, 'oneroof exceptions list --all'::text);
  ELSIF oneroof.gov_exception_content(p_subject::bigint) IS DISTINCT FROM p_content THEN
    PERFORM oneroof.gov_refuse(format('exception %s is not what the request says', p_subject)::text, 'oneroof exceptions add'::text);
  END IF;
END
$$;
