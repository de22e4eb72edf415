"""The catalog of a database as sorted lines of text, alike on every PostgreSQL version.

`everything` is all that a user can make, cluster-wide roles included; two equal answers mean that nothing was left
behind. `of_oneroof` is the shape of our own objects for the golden dump. An ACL equal to the default counts as none.
"""

from __future__ import annotations

from oneroof.database.connection import Connection

ACL = """
  (SELECT coalesce(string_agg(format('%s=%s%s', coalesce(g.rolname, 'PUBLIC'), x.privilege_type, CASE WHEN x.is_grantable THEN '*' ELSE '' END),
                              ',' ORDER BY g.rolname NULLS FIRST, x.privilege_type), '')
   FROM aclexplode(coalesce({acl}, acldefault(({kind})::"char", {owner}))) AS x LEFT JOIN pg_roles AS g ON g.oid = x.grantee)"""

EVERYTHING = (
    "SELECT format('class %s %s %s %s %s %s', c.relkind, c.oid::regclass, c.relowner::regrole, c.relrowsecurity, c.reloptions::text,"
    + ACL.format(acl="c.relacl", kind="CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END", owner="c.relowner")
    + """) FROM pg_class AS c WHERE c.relnamespace = ANY (ARRAY(SELECT oid FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'))""",
    """SELECT format('column acl %s.%s %s=%s', a.attrelid::regclass, a.attname, x.grantee::regrole, x.privilege_type)
       FROM pg_attribute AS a CROSS JOIN aclexplode(a.attacl) AS x WHERE a.attrelid >= 16384""",
    """SELECT format('attribute %s.%s %s %s %s %s', a.attrelid::regclass, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod),
              a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
       FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
       WHERE c.relnamespace = ANY (ARRAY(SELECT oid FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)')) AND a.attnum > 0""",
    "SELECT format('function %s %s %s %s', p.oid::regprocedure, p.proowner::regrole, md5(pg_get_functiondef(p.oid)),"
    + ACL.format(acl="p.proacl", kind="'f'", owner="p.proowner")
    + ") FROM pg_proc AS p WHERE p.pronamespace = ANY (ARRAY(SELECT oid FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'))",
    "SELECT format('schema %s %s %s', n.nspname, n.nspowner::regrole,"
    + ACL.format(acl="n.nspacl", kind="'n'", owner="n.nspowner")
    + ") FROM pg_namespace AS n WHERE n.nspname !~ '^pg_(temp|toast)'",
    "SELECT format('database %s %s',  d.datname,"
    + ACL.format(acl="d.datacl", kind="'d'", owner="d.datdba")
    + ") FROM pg_database AS d WHERE d.datname = current_database()",
    "SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint",
    "SELECT format('trigger %s %s', tgrelid::regclass, pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal",
    "SELECT format('index %s', pg_get_indexdef(indexrelid)) FROM pg_index WHERE indrelid::regclass::text !~ '^pg_'",
    "SELECT format('view %s %s', c.oid::regclass, md5(pg_get_viewdef(c.oid))) FROM pg_class AS c WHERE c.relkind = 'v' AND c.relnamespace = ANY (ARRAY(SELECT oid FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'))",
    "SELECT format('type %s', oid::regtype) FROM pg_type WHERE typnamespace = ANY (ARRAY(SELECT oid FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'))",
    "SELECT format('comment %s %s %s', objoid::regclass, objsubid, description) FROM pg_description AS d WHERE classoid = 'pg_class'::regclass AND objoid >= 16384",
    "SELECT format('role %s', to_jsonb(r) - 'oid') FROM pg_roles AS r",
    "SELECT format('role comment %s %s', objoid::regrole, description) FROM pg_shdescription WHERE classoid = 'pg_authid'::regclass",
    "SELECT format('membership %s in %s by %s %s', member::regrole, roleid::regrole, grantor::regrole, admin_option) FROM pg_auth_members",
    "SELECT format('default acl %s', d) FROM pg_default_acl AS d",
    "SELECT format('extension %s', extname) FROM pg_extension",
    "SELECT format('event trigger %s', evtname) FROM pg_event_trigger",
    "SELECT format('publication %s', pubname) FROM pg_publication",
    "SELECT format('role setting %s', s) FROM pg_db_role_setting AS s",
)

OURS = "(SELECT oid FROM pg_roles WHERE rolname = 'oneroof_owner')"
GRANTED = """
  (SELECT coalesce(string_agg(DISTINCT format('%s=%s', coalesce(g.rolname, 'PUBLIC'), x.privilege_type), ' '), '-')
   FROM aclexplode({acl}) AS x LEFT JOIN pg_roles AS g ON g.oid = x.grantee WHERE x.grantee <> {owner})"""

OF_ONEROOF = (
    "SELECT format('%s %s | %s', CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' END, c.oid::regclass,"
    + GRANTED.format(acl="c.relacl", owner="c.relowner")
    + f") FROM pg_class AS c WHERE c.relowner = {OURS} AND c.relkind IN ('r', 'v')",
    f"""SELECT format('column %s.%s %s%s%s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
              CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END, ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid))
       FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       LEFT JOIN pg_attrdef AS d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
       WHERE c.relowner = {OURS} AND c.relkind IN ('r', 'v')""",
    f"""SELECT format('constraint %s %s %s', c.oid::regclass, k.conname, pg_get_constraintdef(k.oid))
       FROM pg_class AS c JOIN pg_constraint AS k ON k.conrelid = c.oid AND k.contype <> 'n' WHERE c.relowner = {OURS}""",
    f"SELECT format('index %s', pg_get_indexdef(i.indexrelid)) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE c.relowner = {OURS} AND c.relnamespace = 'oneroof'::regnamespace",
    "SELECT format('function %s returns %s %s %s %s | %s', p.oid::regprocedure, pg_get_function_result(p.oid), p.provolatile,"
    " CASE WHEN p.prosecdef THEN 'definer' ELSE 'invoker' END, p.proconfig::text,"
    + GRANTED.format(acl="p.proacl", owner="p.proowner")
    + f") FROM pg_proc AS p WHERE p.proowner = {OURS}",
    "SELECT format('grant on %s to %s: %s', c.oid::regclass, g.rolname, string_agg(DISTINCT x.privilege_type, ' '))"
    " FROM pg_class AS c CROSS JOIN aclexplode(c.relacl) AS x JOIN pg_roles AS g ON g.oid = x.grantee"
    f" WHERE g.rolname LIKE 'oneroof%' AND c.relowner <> {OURS} GROUP BY c.oid, g.rolname",
    "SELECT format('grant on %s.%s to %s: %s', c.oid::regclass, a.attname, g.rolname, string_agg(DISTINCT x.privilege_type, ' '))"
    " FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid CROSS JOIN aclexplode(a.attacl) AS x JOIN pg_roles AS g ON g.oid = x.grantee"
    " WHERE g.rolname LIKE 'oneroof%' GROUP BY c.oid, a.attname, g.rolname",
    "SELECT format('schema %s of %s to %s: %s', n.nspname, n.nspowner::regrole, g.rolname, string_agg(DISTINCT x.privilege_type, ' '))"
    " FROM pg_namespace AS n CROSS JOIN aclexplode(n.nspacl) AS x JOIN pg_roles AS g ON g.oid = x.grantee"
    " WHERE g.rolname LIKE 'oneroof%' GROUP BY n.oid, n.nspname, n.nspowner, g.rolname",
    "SELECT format('role %s: login %s super %s createrole %s bypassrls %s', rolname, rolcanlogin, rolsuper, rolcreaterole, rolbypassrls)"
    " FROM pg_roles WHERE rolname LIKE 'oneroof%'",
)


def everything(connection: Connection) -> list[str]:
    """All of the catalog that a user can make."""
    return _lines(connection, EVERYTHING)


def of_oneroof(connection: Connection) -> list[str]:
    """Our own objects and what was granted to our roles."""
    return _lines(connection, OF_ONEROOF)


def _lines(connection: Connection, queries: tuple[str, ...]) -> list[str]:
    with connection.transaction():
        connection.execute("SET LOCAL search_path = public")
        return sorted(str(line) for query in queries for (line,) in connection.execute(query))
