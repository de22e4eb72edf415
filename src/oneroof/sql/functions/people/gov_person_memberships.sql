-- Make the memberships in the cluster what the record says: for every registered login, and none for those just gone.
-- While other databases of the cluster have oneroof too, none is taken back: the same login may be a person there, and
-- here the record alone already refuses a login that is not in it.
CREATE OR REPLACE FUNCTION oneroof.gov_person_memberships(p_gone name[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  alone CONSTANT boolean := NOT EXISTS (
    SELECT FROM pg_catalog.pg_shdepend AS d
    WHERE d.refclassid = 'pg_catalog.pg_authid'::regclass AND d.refobjid = 'oneroof_owner'::regrole
      AND d.dbid NOT IN (0, (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())));
  change record;
BEGIN
  FOR change IN
    SELECT r.rolname AS login, 'oneroof_' || w.role_word AS group_role, coalesce(w.role_word = ANY (p.roles), false) AS wanted
    FROM pg_catalog.pg_roles AS r
    LEFT JOIN oneroof.governance_person_login AS l ON l.login = r.rolname AND l.login_oid = r.oid AND l.cluster = oneroof.gov_cluster()
    LEFT JOIN oneroof.governance_person AS p ON p.person_code = l.person_code
    CROSS JOIN unnest(ARRAY['reader', 'operator', 'approver', 'executor']) AS w (role_word)
    WHERE (l.login IS NOT NULL OR r.rolname = ANY (p_gone))
      AND coalesce(w.role_word = ANY (p.roles), false) IS DISTINCT FROM EXISTS (
        SELECT FROM pg_catalog.pg_auth_members AS m
        JOIN pg_catalog.pg_roles AS g ON g.oid = m.roleid
        WHERE m.member = r.oid AND g.rolname = 'oneroof_' || w.role_word)
  LOOP
    IF change.wanted THEN
      EXECUTE format('GRANT %I TO %I', change.group_role, change.login);
    ELSIF alone THEN
      EXECUTE format('REVOKE %I FROM %I', change.group_role, change.login);
    END IF;
  END LOOP;
END
$$;
