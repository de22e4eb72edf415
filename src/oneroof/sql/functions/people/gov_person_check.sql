-- Is this change of a person one that could be made? `content` is {action, login?, name?, roles?}.
CREATE OR REPLACE FUNCTION oneroof.gov_person_check(p_person text, p_content jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  action CONSTANT text := p_content ->> 'action';
  new_login CONSTANT text := p_content ->> 'login';
  roles_given CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(coalesce(p_content -> 'roles', '[]')));
  known CONSTANT boolean := EXISTS (SELECT FROM oneroof.governance_person WHERE person_code = p_person AND removed_at IS NULL);
  other text;
BEGIN
  IF p_person IS NULL OR p_person !~ '^[[:alnum:]][[:alnum:]_.@-]{0,62}$' THEN
    PERFORM oneroof.gov_refuse(format('%L is no name for a person: letters, digits and _ . @ - only', p_person)::text, NULL::text);
  ELSIF action = 'add' AND known THEN
    PERFORM oneroof.gov_refuse(format('%s is already a person', p_person)::text, 'oneroof person link | grant'::text);
  ELSIF action <> 'add' AND NOT known THEN
    PERFORM oneroof.gov_refuse(format('there is no person %s', p_person)::text, 'oneroof person list'::text);
  ELSIF length(coalesce(p_content ->> 'name', 'x')) NOT BETWEEN 1 AND 200 THEN
    PERFORM oneroof.gov_refuse('a name has 1 to 200 characters'::text, NULL::text);
  ELSIF NOT roles_given <@ ARRAY['reader', 'operator', 'approver', 'executor'] THEN
    PERFORM oneroof.gov_refuse(format('roles are reader, operator, approver, executor; not %s', array_to_string(roles_given, ', '))::text, NULL::text);
  END IF;

  CASE action
    WHEN 'add', 'link' THEN
      IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = new_login AND rolcanlogin) THEN
        PERFORM oneroof.gov_refuse(format('there is no login %L in this cluster', new_login)::text, 'CREATE ROLE ... LOGIN, then again'::text);
      END IF;
      other := (SELECT person_code FROM oneroof.governance_person_login WHERE login = new_login AND cluster = oneroof.gov_cluster());
      IF other IS NOT NULL THEN
        PERFORM oneroof.gov_refuse(format('the login %s already belongs to %s', new_login, other)::text, NULL::text);
      END IF;
    WHEN 'unlink' THEN
      IF NOT EXISTS (SELECT FROM oneroof.governance_person_login WHERE login = new_login AND person_code = p_person) THEN
        PERFORM oneroof.gov_refuse(format('%s has no login %s', p_person, new_login)::text, 'oneroof person list'::text);
      END IF;
    WHEN 'grant', 'revoke' THEN
      IF roles_given = '{}' THEN
        PERFORM oneroof.gov_refuse('say which role: reader, operator, approver or executor'::text, NULL::text);
      END IF;
    WHEN 'remove' THEN
      NULL;
    ELSE
      PERFORM oneroof.gov_refuse(format('there is no change of a person called %L', action)::text, NULL::text);
  END CASE;

  -- With fewer than two approvers left nothing could ever be approved again.
  IF (action = 'remove' OR (action = 'revoke' AND 'approver' = ANY (roles_given))
      OR (action = 'unlink' AND 1 = (SELECT count(*) FROM oneroof.governance_person_login WHERE person_code = p_person)))
     AND EXISTS (SELECT FROM oneroof.governance_person WHERE person_code = p_person AND 'approver' = ANY (roles))
     AND 2 >= (SELECT count(*) FROM oneroof.governance_person WHERE 'approver' = ANY (roles))
  THEN
    PERFORM oneroof.gov_refuse(format('%s is one of the last two approvers', p_person)::text, 'add another approver first'::text);
  END IF;
END
$$;
