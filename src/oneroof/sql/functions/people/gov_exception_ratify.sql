-- Let an exception count, on an approval just given of the very request that was made with it.
CREATE OR REPLACE FUNCTION oneroof.gov_exception_ratify(p_request bigint, p_subject text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  UPDATE oneroof.governance_exception AS e SET ratified_at = oneroof.gov_now(), ratified_by = oneroof.gov_session_person()
  WHERE e.exception_id::text = p_subject AND e.request_id = p_request AND e.revoked_at IS NULL;
  IF NOT FOUND THEN
    PERFORM oneroof.gov_refuse(format('request %s is not the one that was made with exception %s', p_request, p_subject)::text,
                              'oneroof exceptions list --all'::text);
  END IF;
  PERFORM oneroof.gov_audit_note('exception'::text, p_subject, 'ratify'::text);
END
$$;
