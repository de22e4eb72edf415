-- Give back every privilege in this database; drop the roles when no other database of the cluster still needs them.
DO $unroles$
DECLARE
  ours CONSTANT text[] := ARRAY['oneroof_reader', 'oneroof_worker', 'oneroof_operator', 'oneroof_approver',
                                'oneroof_executor', 'oneroof_console', 'oneroof_owner'];
  modern CONSTANT boolean := current_setting('server_version_num')::int >= 160000;
  here CONSTANT oid := (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database());
  role_name text;
BEGIN
  IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
    FOREACH role_name IN ARRAY ours LOOP
      EXECUTE format('GRANT %I TO %I %s', role_name, current_user, CASE WHEN modern THEN 'WITH INHERIT TRUE' ELSE '' END);
    END LOOP;
  END IF;
  FOREACH role_name IN ARRAY ours LOOP
    EXECUTE format('DROP OWNED BY %I', role_name);
  END LOOP;
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_shdepend AS d
                 JOIN pg_catalog.pg_roles AS r ON r.oid = d.refobjid
                 WHERE d.refclassid = 'pg_catalog.pg_authid'::regclass
                   AND r.rolname = ANY (ours) AND d.dbid NOT IN (0, here))
  THEN
    EXECUTE 'DROP ROLE ' || array_to_string(ours, ', ');
  END IF;
END
$unroles$;
