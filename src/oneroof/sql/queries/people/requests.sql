-- request --
SELECT oneroof.gov_request_open(%(kind)s::text, %(subject)s::text, %(content)s::jsonb, %(reason)s::text)

-- decide --
SELECT oneroof.gov_request_decide(%(request)s::bigint, %(decision)s::text, %(reason)s::text)

-- listing --
SELECT request_id, request_kind, subject, content, reason, content_sha256, requester, requester_login::text, requested_at,
       state, is_edited, decider, decider_login::text, decided_at, decision_reason
FROM oneroof.v_request
WHERE state = ANY (%(states)s::text[])
  AND (%(kind)s::text IS NULL OR request_kind = %(kind)s::text)
  AND (%(request)s::bigint IS NULL OR request_id = %(request)s::bigint)
ORDER BY request_id DESC
LIMIT %(limit)s::bigint
