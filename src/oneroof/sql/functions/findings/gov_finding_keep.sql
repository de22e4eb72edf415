-- A finding that is a state, open while it is so: it is raised when it begins, and when its details change; a further look that
-- finds it unchanged moves last_seen_at alone. Answers whether it was opened.
CREATE OR REPLACE FUNCTION oneroof.gov_finding_keep(p_type text, p_subject text, p_title text, p_details jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  key CONSTANT text := p_type || ':' || p_subject;
BEGIN
  IF NOT EXISTS (SELECT FROM oneroof.v_finding AS f
                 WHERE f.coalesce_key = key AND f.is_open AND f.details = coalesce(p_details, '{}'::jsonb)) THEN
    RETURN oneroof.gov_finding_raise(p_type, p_subject, p_title, p_details);
  END IF;
  -- A watch every few seconds must not write every few seconds.
  UPDATE oneroof.governance_finding AS f SET last_seen_at = at WHERE f.coalesce_key = key AND f.last_seen_at <= at - interval '30 seconds';
  IF FOUND THEN
    UPDATE host.system_issues AS i SET last_seen_at = at
    WHERE i.id = (SELECT f.issue_id FROM oneroof.governance_finding AS f WHERE f.coalesce_key = key);
  END IF;
  RETURN false;
END
$$;
