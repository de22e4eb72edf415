-- The person behind this session, if it holds one of the roles; otherwise a refusal that says why (promise 21).
CREATE OR REPLACE FUNCTION public.gov_require_person(VARIADIC p_roles text[]) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  who CONSTANT text := public.gov_session_person();
BEGIN
  IF who IS NULL THEN
    PERFORM public.gov_refuse(
      format('the login %s is no registered person', quote_ident(session_user)),
      'connect as a person''s own login (oneroof person list); being superuser does not help');
  END IF;
  IF NOT (SELECT roles && p_roles FROM public.governance_person WHERE person_code = who) THEN
    PERFORM public.gov_refuse(
      format('%s (login %s) is not %s', who, quote_ident(session_user), array_to_string(p_roles, ' or ')),
      format('oneroof person grant %s %s', who, p_roles[1]));
  END IF;
  IF NOT EXISTS (SELECT FROM unnest(p_roles) AS r WHERE pg_has_role(session_user, 'oneroof_' || r, 'MEMBER')) THEN
    PERFORM public.gov_refuse(
      format('the login %s is not a member of oneroof_%s', quote_ident(session_user), array_to_string(p_roles, ' or oneroof_')),
      'oneroof upgrade grants people''s memberships anew');
  END IF;
  RETURN who;
END
$$;
