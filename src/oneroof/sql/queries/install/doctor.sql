-- settings --
SELECT s.name, s.reset_val, w.wanted, w.matters
FROM (VALUES
  ('fsync', 'on', 'a crash could lose what was proven'),
  ('full_page_writes', 'on', 'a crash could lose what was proven'),
  ('autovacuum', 'on', 'old row versions and xids pile up'),
  ('track_activities', 'on', 'the oldest transaction cannot be named'),
  ('session_replication_role', 'origin', 'triggers and constraints are off in this session'),
  ('default_transaction_isolation', 'read committed', 'workers would retry more than they need')
) AS w (name, wanted, matters)
JOIN pg_catalog.pg_settings AS s USING (name)

-- capacities --
SELECT name, reset_val, coalesce(unit, '') FROM pg_catalog.pg_settings
WHERE name IN ('max_connections', 'max_prepared_transactions', 'statement_timeout', 'idle_in_transaction_session_timeout', 'TimeZone')
ORDER BY name

-- horizon --
SELECT * FROM (
  SELECT age(backend_xmin)::bigint AS xids, extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds,
         format('pid %s (%s)', pid, usename) AS who
  FROM pg_catalog.pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
  UNION ALL
  SELECT age(transaction)::bigint, extract(epoch FROM clock_timestamp() - prepared)::float8, format('prepared transaction %L', gid)
  FROM pg_catalog.pg_prepared_xacts
) AS open ORDER BY seconds DESC NULLS LAST LIMIT 1

-- objects --
SELECT count(*) FILTER (WHERE relkind IN ('r', 'p')), count(*) FILTER (WHERE relkind = 'v'),
       (SELECT count(*) FROM pg_catalog.pg_proc WHERE proowner = 'oneroof_owner'::regrole AND pronamespace = 'oneroof'::regnamespace)
FROM pg_catalog.pg_class WHERE relowner = 'oneroof_owner'::regrole AND relnamespace = 'oneroof'::regnamespace

-- grants --
SELECT coalesce(array_agg(c.relname::text ORDER BY c.relname) FILTER (WHERE NOT has_table_privilege(c.oid, 'SELECT')), '{}'),
       coalesce(array_agg(c.relname::text ORDER BY c.relname)
                FILTER (WHERE NOT (pg_has_role(c.relowner, 'USAGE') OR has_table_privilege(c.oid, 'SELECT WITH GRANT OPTION'))), '{}')
FROM pg_catalog.pg_class AS c
WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = %(schema)s::text) AND c.relname = ANY (%(tables)s)

-- powers --
SELECT (rolsuper OR rolcreaterole) AND NOT EXISTS (
         SELECT FROM pg_catalog.pg_roles AS r
         WHERE r.rolname ~ '^oneroof_' AND current_setting('server_version_num')::int >= 160000
           AND NOT pg_has_role(current_user, r.oid, 'MEMBER WITH ADMIN OPTION')),
       has_database_privilege(current_database(), 'CREATE')
FROM pg_catalog.pg_roles WHERE rolname = current_user

-- planted --
SELECT p.oid::regprocedure::text, p.proowner::regrole::text FROM pg_catalog.pg_proc AS p
WHERE p.pronamespace = 'oneroof'::regnamespace AND p.proowner <> 'oneroof_owner'::regrole

-- triggers --
SELECT c.relname::text, format('the trigger %%s', t.tgname) FROM pg_catalog.pg_trigger AS t
JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = %(schema)s::text)
  AND c.relname IN ('approval_requests', 'dot_config', 'event_outbox', 'event_pending', 'event_read', 'event_subscription',
                    'event_type_registry', 'queue_heartbeat', 'registry_changelog', 'system_issues')
UNION ALL
SELECT c.relname::text, format('the policy %%s', p.polname) FROM pg_catalog.pg_policy AS p
JOIN pg_catalog.pg_class AS c ON c.oid = p.polrelid
WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = %(schema)s::text)
  AND c.relname IN ('approval_requests', 'dot_config', 'event_outbox', 'event_pending', 'event_read', 'event_subscription',
                    'event_type_registry', 'queue_heartbeat', 'registry_changelog', 'system_issues')

-- readable --
SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
               WHERE n.nspname = 'oneroof' AND c.relname = 'v_person'
                 AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'))

-- memberships --
SELECT person_code, array_to_string(memberships_missing, ', ') FROM oneroof.v_person WHERE memberships_missing <> '{}'
