-- What an approval is bound to: the whole of what was asked, in jsonb's own canonical text.
CREATE OR REPLACE FUNCTION oneroof.gov_request_digest(p_kind text, p_subject text, p_content jsonb, p_reason text, p_login text)
RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT encode(sha256(convert_to(jsonb_build_array(p_kind, p_subject, p_content, p_reason, p_login)::text, 'UTF8')), 'hex')
$$;
