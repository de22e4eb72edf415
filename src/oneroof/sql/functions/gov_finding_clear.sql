-- What was found is no longer so. Answers whether it was open; one that nobody raised, or that the host has closed
-- itself, is left as it is.
CREATE OR REPLACE FUNCTION public.gov_finding_clear(p_type text, p_subject text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  key CONSTANT text := p_type || ':' || p_subject;
  was_open boolean;
BEGIN
  IF NOT EXISTS (SELECT FROM public.governance_finding WHERE coalesce_key = key AND is_open) THEN
    RETURN false;
  END IF;
  PERFORM FROM public.governance_finding WHERE coalesce_key = key FOR UPDATE;
  was_open := (SELECT f.is_open FROM public.v_finding AS f WHERE f.coalesce_key = key);
  IF was_open THEN
    UPDATE public.system_issues SET status = 'resolved', resolved_at = public.gov_now()
    WHERE id = (SELECT f.issue_id FROM public.governance_finding AS f WHERE f.coalesce_key = key);
  END IF;
  UPDATE public.governance_finding SET is_open = false WHERE coalesce_key = key;
  RETURN was_open;
END
$$;
