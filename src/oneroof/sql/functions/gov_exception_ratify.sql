-- Let an exception count, on an approval just given of the very request that was made with it.
CREATE OR REPLACE FUNCTION public.gov_exception_ratify(p_request bigint, p_subject text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  UPDATE public.governance_exception AS e SET ratified_at = public.gov_now(), ratified_by = public.gov_session_person()
  WHERE e.exception_id::text = p_subject AND e.request_id = p_request AND e.revoked_at IS NULL;
  IF NOT FOUND THEN
    PERFORM public.gov_refuse(format('request %s is not the one that was made with exception %s', p_request, p_subject)::text,
                              'oneroof exceptions list --all'::text);
  END IF;
  PERFORM public.gov_audit('exception'::text, p_subject, 'ratify'::text);
END
$$;
