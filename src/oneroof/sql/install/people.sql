-- On an estate the people are known: two approvers, a second login of the first one, and one who may only ask.
DO $people$
BEGIN
  IF to_regclass('host.estate_build') IS NOT NULL AND NOT EXISTS (SELECT FROM oneroof.governance_person) THEN
    PERFORM oneroof.gov_person_bootstrap('requester'::text, '{"action": "add", "login": "requester", "name": "Estate requester", "roles": ["operator", "approver"]}'::jsonb);
    PERFORM oneroof.gov_person_bootstrap('requester'::text, '{"action": "link", "login": "requester_alt"}'::jsonb);
    PERFORM oneroof.gov_person_bootstrap('viewer'::text, '{"action": "add", "login": "viewer", "name": "Estate viewer", "roles": ["operator"]}'::jsonb);
    PERFORM oneroof.gov_person_bootstrap('approver'::text, '{"action": "add", "login": "approver", "name": "Estate approver", "roles": ["operator", "approver"]}'::jsonb);
  END IF;
  -- Memberships belong to the cluster and people to the database: another database may have taken some back.
  PERFORM oneroof.gov_person_memberships('{}'::name[]);
END
$people$;
