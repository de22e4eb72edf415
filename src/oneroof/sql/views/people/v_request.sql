-- Every request with its decision. A pending one whose row in approval_requests was edited or decided, or whose ruleset is no
-- longer that of the rules, shows so before anyone decides.
CREATE VIEW oneroof.v_request AS
SELECT
  r.request_id, r.request_kind, r.subject, r.content, r.reason, r.content_sha256,
  r.requester, r.requester_login, r.requested_at, r.state, r.decider, r.decider_login, r.decided_at, r.decision_reason,
  r.state = 'pending' AND ((
    SELECT array_agg(oneroof.gov_request_digest(a.request_kind, a.subject, a.content, a.reason, a.requested_by) || a.status)
    FROM host.approval_requests AS a WHERE a.id = r.request_id
  ) IS DISTINCT FROM ARRAY[r.content_sha256 || 'pending']
    OR CASE WHEN r.request_kind = 'ruleset.activate'
            THEN r.content ->> 'ruleset_version' IS DISTINCT FROM oneroof.gov_ruleset_version() ELSE false END) AS is_edited
FROM oneroof.governance_request AS r;
