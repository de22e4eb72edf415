-- Make a change that was checked: the record first, then the memberships in the cluster that follow from it.
CREATE OR REPLACE FUNCTION oneroof.gov_person_change(p_person text, p_content jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  action CONSTANT text := p_content ->> 'action';
  roles_given CONSTANT text[] := ARRAY(SELECT DISTINCT r FROM jsonb_array_elements_text(coalesce(p_content -> 'roles', '[]')) AS r ORDER BY r);
  gone name[] := '{}';
BEGIN
  -- Two changes at once could each believe that another approver remains.
  LOCK TABLE oneroof.governance_person IN SHARE ROW EXCLUSIVE MODE;
  PERFORM oneroof.gov_person_check(p_person, p_content);
  CASE action
    WHEN 'add' THEN
      INSERT INTO oneroof.governance_person (person_code, display_name, roles, added_at, changed_at)
      VALUES (p_person, coalesce(p_content ->> 'name', p_person), roles_given, at, at)
      ON CONFLICT (person_code) DO UPDATE
      SET display_name = excluded.display_name, roles = excluded.roles, changed_at = at, removed_at = NULL;
    WHEN 'grant' THEN
      UPDATE oneroof.governance_person
      SET roles = ARRAY(SELECT DISTINCT r FROM unnest(roles || roles_given) AS r ORDER BY r), changed_at = at
      WHERE person_code = p_person;
    WHEN 'revoke' THEN
      UPDATE oneroof.governance_person
      SET roles = ARRAY(SELECT r FROM unnest(roles) AS r WHERE r <> ALL (roles_given) ORDER BY r), changed_at = at
      WHERE person_code = p_person;
    WHEN 'remove' THEN
      UPDATE oneroof.governance_person SET roles = '{}', changed_at = at, removed_at = at WHERE person_code = p_person;
      WITH unlinked AS (DELETE FROM oneroof.governance_person_login WHERE person_code = p_person RETURNING login)
      SELECT coalesce(array_agg(login), '{}') INTO gone FROM unlinked;
    WHEN 'unlink' THEN
      DELETE FROM oneroof.governance_person_login WHERE login = p_content ->> 'login';
      gone := ARRAY[(p_content ->> 'login')::name];
    ELSE
      NULL;
  END CASE;
  IF action IN ('add', 'link') THEN
    -- A link to another cluster's role of that name gives way; one of this cluster was refused above.
    INSERT INTO oneroof.governance_person_login (login, login_oid, cluster, person_code, linked_at)
    SELECT r.rolname, r.oid, oneroof.gov_cluster(), p_person, at FROM pg_catalog.pg_roles AS r WHERE r.rolname = p_content ->> 'login'
    ON CONFLICT (login) DO UPDATE
    SET login_oid = excluded.login_oid, cluster = excluded.cluster, person_code = excluded.person_code, linked_at = excluded.linked_at;
  END IF;
  PERFORM oneroof.gov_person_memberships(gone::name[]);
  PERFORM oneroof.gov_audit_note('person'::text, p_person, action);
END
$$;
