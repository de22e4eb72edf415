-- On an estate the people are known: two approvers, a second login of the first one, and one who may only ask.
DO $people$
BEGIN
  IF to_regclass('public.estate_build') IS NOT NULL AND NOT EXISTS (SELECT FROM public.governance_person) THEN
    PERFORM public.gov_person_bootstrap('requester', '{"action": "add", "login": "requester", "name": "Estate requester", "roles": ["operator", "approver"]}');
    PERFORM public.gov_person_bootstrap('requester', '{"action": "link", "login": "requester_alt"}');
    PERFORM public.gov_person_bootstrap('viewer', '{"action": "add", "login": "viewer", "name": "Estate viewer", "roles": ["operator"]}');
    PERFORM public.gov_person_bootstrap('approver', '{"action": "add", "login": "approver", "name": "Estate approver", "roles": ["operator", "approver"]}');
  END IF;
  -- Memberships belong to the cluster and people to the database: another database may have taken some back.
  PERFORM public.gov_person_memberships();
END
$people$;
