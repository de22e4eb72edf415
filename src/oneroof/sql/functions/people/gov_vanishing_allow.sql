-- Two people have said that what vanished of a group may go: as many as are held, and no more.
CREATE OR REPLACE FUNCTION oneroof.gov_vanishing_allow(p_request bigint, p_group text, p_content jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  UPDATE oneroof.governance_vanishing
  SET request_id = p_request, allowed = held, allowed_at = oneroof.gov_now()
  WHERE source_name = p_content ->> 'source_name' AND group_key = p_group;
  PERFORM oneroof.gov_audit_note('vanishing'::text, p_group, 'allow'::text);
END
$$;
