-- The roles of oneroof, shared by all databases of the cluster. None of them is a login.
-- Two installers at once: the second CREATE ROLE waits for the first and then finds the name taken; the comment on
-- oneroof_owner is the mutex, since it locks that role for the whole cluster until the transaction ends.
DO $roles$
DECLARE
  purposes CONSTANT jsonb := jsonb_build_object(
    'oneroof_owner',    'owns the objects and the SECURITY DEFINER functions; no person or process logs in as it',
    'oneroof_reader',   'may SELECT, nothing else',
    'oneroof_worker',   'reads sources and writes its own state; writes the host only through functions',
    'oneroof_operator', 'reads and requests',
    'oneroof_approver', 'reads and decides what another person requested',
    'oneroof_executor', 'applies what was approved',
    'oneroof_console',  'reads summary views');
  -- Handing out these memberships is how people get their roles; the functions that do it run as oneroof_owner.
  of_people CONSTANT text[] := ARRAY['oneroof_reader', 'oneroof_operator', 'oneroof_approver', 'oneroof_executor'];
  modern CONSTANT boolean := current_setting('server_version_num')::int >= 160000;
  role_name text;
  purpose text;
  found oid;
BEGIN
  FOR role_name, purpose IN SELECT * FROM jsonb_each_text(purposes) LOOP
    found := (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = role_name);
    IF found IS NULL THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
        EXECUTE format('COMMENT ON ROLE %I IS %L', role_name, 'oneroof: ' || purpose);
      EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL; -- another installer was first
      END;
    END IF;
  END LOOP;

  FOR role_name, purpose IN SELECT * FROM jsonb_each_text(purposes) LOOP
    IF coalesce(shobj_description((SELECT oid FROM pg_catalog.pg_roles WHERE rolname = role_name), 'pg_authid'), '')
       NOT LIKE 'oneroof:%'
    THEN
      RAISE EXCEPTION 'the role % exists and was not made by oneroof', role_name
        USING ERRCODE = 'GV403',
              HINT = format('drop or rename it, or hand it over with COMMENT ON ROLE %I IS %L', role_name, 'oneroof: ours');
    END IF;
  END LOOP;
  EXECUTE format('COMMENT ON ROLE oneroof_owner IS %L', 'oneroof: ' || (purposes ->> 'oneroof_owner'));

  IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
    -- On 16 and newer the installer may become oneroof_owner, aloud, but does not have its rights in passing.
    FOREACH role_name IN ARRAY ARRAY['oneroof_owner', 'oneroof_reader', 'oneroof_worker', 'oneroof_console'] LOOP
      IF NOT pg_has_role(current_user, role_name, CASE WHEN modern THEN 'MEMBER WITH ADMIN OPTION' ELSE 'MEMBER' END) AND modern THEN
        RAISE EXCEPTION 'the roles of oneroof in this cluster were made by another role'
          USING ERRCODE = 'GV403', HINT = format('as the first installer: GRANT %s TO %I WITH ADMIN OPTION',
                                                 array_to_string(ARRAY(SELECT jsonb_object_keys(purposes)), ', '), current_user);
      END IF;
      EXECUTE format('GRANT %I TO %I %s', role_name, current_user,
                     CASE WHEN modern THEN CASE WHEN role_name = 'oneroof_owner' THEN 'WITH INHERIT FALSE, SET TRUE' ELSE 'WITH INHERIT TRUE, SET TRUE' END ELSE '' END);
    END LOOP;
  END IF;
  FOREACH role_name IN ARRAY of_people LOOP
    EXECUTE format('GRANT %I TO oneroof_owner WITH %s', role_name,
                   CASE WHEN modern THEN 'ADMIN TRUE, INHERIT FALSE, SET FALSE' ELSE 'ADMIN OPTION' END);
  END LOOP;
  -- One function of the owner's tells workers when the oldest transaction began, and nothing else of other sessions. Where the
  -- installer may not grant this it says that it does not know, and the newest rows are read from five seconds back.
  IF pg_has_role(current_user, 'pg_read_all_stats', 'MEMBER WITH ADMIN OPTION')
     AND NOT pg_has_role('oneroof_owner', 'pg_read_all_stats', 'MEMBER') THEN
    GRANT pg_read_all_stats TO oneroof_owner;
  END IF;
END
$roles$;
