-- People with their logins and roles; a role without its membership in the cluster is named.
CREATE VIEW oneroof.v_person AS
SELECT
  p.person_code, p.display_name, p.roles, p.added_at, p.changed_at,
  coalesce(array_agg(l.login::text ORDER BY l.login) FILTER (WHERE l.login IS NOT NULL), '{}') AS logins,
  coalesce((
    SELECT array_agg(format('%s: oneroof_%s', m.login, w.role_word) ORDER BY m.login, w.role_word)
    FROM oneroof.governance_person_login AS m
    CROSS JOIN unnest(p.roles) AS w (role_word)
    LEFT JOIN pg_catalog.pg_roles AS a ON a.rolname = m.login AND a.oid = m.login_oid AND m.cluster = oneroof.gov_cluster()
    WHERE m.person_code = p.person_code
      AND (a.oid IS NULL OR NOT pg_has_role(a.oid, ('oneroof_' || w.role_word)::name, 'MEMBER'))
  ), '{}') AS memberships_missing
FROM oneroof.governance_person AS p
LEFT JOIN oneroof.governance_person_login AS l USING (person_code)
WHERE p.removed_at IS NULL
GROUP BY p.person_code;
