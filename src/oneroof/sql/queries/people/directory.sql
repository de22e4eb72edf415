-- listing --
SELECT person_code, display_name, roles, logins, memberships_missing FROM oneroof.v_person ORDER BY person_code

-- standing --
SELECT oneroof.gov_person_bootstrapping(), pg_has_role(session_user, 'oneroof_owner', 'MEMBER')

-- bootstrap --
SELECT oneroof.gov_person_bootstrap(%(person)s::text, %(content)s::jsonb)
