-- Who is here: the person behind the login that authenticated, the very role that was linked and not one of its name. SET ROLE does not change it, nor does being superuser.
CREATE OR REPLACE FUNCTION oneroof.gov_session_person() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT p.person_code
  FROM oneroof.governance_person_login AS l
  JOIN oneroof.governance_person AS p USING (person_code)
  JOIN pg_catalog.pg_roles AS r ON r.rolname = session_user AND r.oid = l.login_oid
  WHERE l.login = session_user AND l.cluster = oneroof.gov_cluster() AND p.removed_at IS NULL
$$;
