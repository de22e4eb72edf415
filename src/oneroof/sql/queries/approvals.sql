-- request --
SELECT public.gov_request_open(%(kind)s, %(subject)s, %(content)s, %(reason)s)

-- decide --
SELECT public.gov_request_decide(%(request)s, %(decision)s, %(reason)s)

-- listing --
SELECT request_id, request_kind, subject, content, reason, content_sha256, requester, requester_login::text, requested_at,
       state, is_edited, decider, decider_login::text, decided_at, decision_reason
FROM public.v_request
WHERE state = ANY (%(states)s)
  AND (%(kind)s::text IS NULL OR request_kind = %(kind)s)
  AND (%(request)s::bigint IS NULL OR request_id = %(request)s)
ORDER BY request_id DESC
LIMIT %(limit)s
