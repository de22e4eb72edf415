-- Every request with its decision. A pending one whose row in approval_requests was edited or decided shows so before anyone decides.
CREATE VIEW public.v_request AS
SELECT
  r.request_id, r.request_kind, r.subject, r.content, r.reason, r.content_sha256,
  r.requester, r.requester_login, r.requested_at, r.state, r.decider, r.decider_login, r.decided_at, r.decision_reason,
  r.state = 'pending' AND (
    SELECT array_agg(public.gov_request_digest(a.request_kind, a.subject, a.content, a.reason, a.requested_by) || a.status)
    FROM public.approval_requests AS a WHERE a.id = r.request_id
  ) IS DISTINCT FROM ARRAY[r.content_sha256 || 'pending'] AS is_edited
FROM public.governance_request AS r;
