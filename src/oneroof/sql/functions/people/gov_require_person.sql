-- The person behind this session, if it holds one of the roles; otherwise a refusal that says why (promise 21). The rows
-- are locked, so that no session acts on a right that was taken away while its transaction was open.
CREATE OR REPLACE FUNCTION oneroof.gov_require_person(p_roles text[]) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  who CONSTANT text := oneroof.gov_session_person();
BEGIN
  PERFORM FROM oneroof.governance_person AS p JOIN oneroof.governance_person_login AS l USING (person_code)
  WHERE l.login = session_user AND p.person_code = who FOR SHARE;
  IF who IS NULL OR NOT FOUND THEN
    PERFORM oneroof.gov_refuse(
      format('the login %s is no registered person', quote_ident(session_user))::text,
      'connect as a person''s own login (oneroof person list); being superuser does not help'::text);
  END IF;
  IF NOT (SELECT roles && p_roles FROM oneroof.governance_person WHERE person_code = who) THEN
    PERFORM oneroof.gov_refuse(
      format('%s (login %s) is not %s', who, quote_ident(session_user), array_to_string(p_roles, ' or '))::text,
      format('oneroof person grant %s %s', who, p_roles[1])::text);
  END IF;
  IF NOT EXISTS (SELECT FROM unnest(p_roles) AS r WHERE pg_has_role(session_user, 'oneroof_' || r, 'MEMBER')) THEN
    PERFORM oneroof.gov_refuse(
      format('the login %s is not a member of oneroof_%s', quote_ident(session_user), array_to_string(p_roles, ' or oneroof_'))::text,
      'oneroof upgrade grants people''s memberships anew'::text);
  END IF;
  RETURN who;
END
$$;
