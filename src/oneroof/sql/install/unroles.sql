-- Give back every privilege in this database; drop the roles when no other database of the cluster still needs them.
-- DROP OWNED would also end the memberships of people in the other databases, so it is for the last one only.
DO $unroles$
DECLARE
  ours CONSTANT text[] := ARRAY['oneroof_reader', 'oneroof_worker', 'oneroof_operator', 'oneroof_approver',
                                'oneroof_executor', 'oneroof_console', 'oneroof_owner'];
  modern CONSTANT boolean := current_setting('server_version_num')::int >= 160000;
  here CONSTANT oid := (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database());
  statement text;
  role_name text;
BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_shdepend AS d
             JOIN pg_catalog.pg_roles AS r ON r.oid = d.refobjid
             WHERE d.refclassid = 'pg_catalog.pg_authid'::regclass AND r.rolname = ANY (ours) AND d.dbid NOT IN (0, here))
  THEN
    FOR statement IN
      SELECT format('REVOKE ALL ON %s FROM %I',
                    CASE d.classid
                      WHEN 'pg_catalog.pg_namespace'::regclass THEN 'SCHEMA ' || d.objid::regnamespace
                      WHEN 'pg_catalog.pg_proc'::regclass THEN 'FUNCTION ' || d.objid::regprocedure
                      ELSE CASE (SELECT relkind FROM pg_catalog.pg_class WHERE oid = d.objid) WHEN 'S' THEN 'SEQUENCE ' ELSE '' END
                           || d.objid::regclass
                    END, r.rolname)
      FROM pg_catalog.pg_shdepend AS d
      JOIN pg_catalog.pg_roles AS r ON r.oid = d.refobjid
      WHERE d.refclassid = 'pg_catalog.pg_authid'::regclass AND r.rolname = ANY (ours) AND d.dbid = here AND d.deptype = 'a'
        AND d.classid IN ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_namespace'::regclass, 'pg_catalog.pg_proc'::regclass)
    LOOP
      EXECUTE statement;
    END LOOP;
    RETURN;
  END IF;
  FOREACH role_name IN ARRAY ours LOOP
    IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
      EXECUTE format('GRANT %I TO %I %s', role_name, current_user, CASE WHEN modern THEN 'WITH INHERIT TRUE' ELSE '' END);
    END IF;
    EXECUTE format('DROP OWNED BY %I', role_name);
  END LOOP;
  EXECUTE 'DROP ROLE ' || array_to_string(ours, ', ');
END
$unroles$;
