-- The first people, before there are two approvers who could vouch for others. Only a login that may act as oneroof_owner
-- (the installer, the database's owner, a superuser) can do this, and only until the second approver is there; then four eyes apply for good.
CREATE OR REPLACE FUNCTION oneroof.gov_person_bootstrap(p_person text, p_content jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT pg_has_role(session_user, 'oneroof_owner', 'MEMBER') THEN
    PERFORM oneroof.gov_refuse(format('the login %s did not install oneroof', quote_ident(session_user))::text,
                              'the first people are registered by the installer'::text);
  END IF;
  LOCK TABLE oneroof.governance_person IN SHARE ROW EXCLUSIVE MODE;
  IF NOT oneroof.gov_person_bootstrapping() THEN
    PERFORM oneroof.gov_refuse('there are two approvers already: people now change by request and approval'::text,
                              'connect as a person''s own login and try again'::text);
  END IF;
  PERFORM oneroof.gov_person_change(p_person, p_content);
END
$$;
