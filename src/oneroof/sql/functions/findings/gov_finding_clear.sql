-- Close a finding. Answers whether it was open; one that was never raised, or that the host has closed
-- itself, is left as it is.
CREATE OR REPLACE FUNCTION oneroof.gov_finding_clear(p_type text, p_subject text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  key CONSTANT text := p_type || ':' || p_subject;
  was_open boolean;
BEGIN
  IF NOT EXISTS (SELECT FROM oneroof.governance_finding WHERE coalesce_key = key AND is_open) THEN
    RETURN false;
  END IF;
  PERFORM FROM oneroof.governance_finding WHERE coalesce_key = key FOR UPDATE;
  was_open := (SELECT f.is_open FROM oneroof.v_finding AS f WHERE f.coalesce_key = key);
  IF was_open THEN
    UPDATE host.system_issues SET status = 'resolved', resolved_at = oneroof.gov_now()
    WHERE id = (SELECT f.issue_id FROM oneroof.governance_finding AS f WHERE f.coalesce_key = key);
  END IF;
  UPDATE oneroof.governance_finding SET is_open = false WHERE coalesce_key = key;
  RETURN was_open;
END
$$;
