-- add --
SELECT oneroof.gov_exception_add(%(level)s::text, %(subject)s::text, %(reason)s::text, %(until)s::timestamptz)

-- revoke --
SELECT oneroof.gov_exception_revoke(%(exception)s::bigint)

-- listing --
SELECT exception_id, level, subject, state, reason, valid_from, valid_to, requested_by, requested_at, request_id, ratified_by,
       ratified_at, revoked_by, revoked_at
FROM oneroof.v_exception
WHERE state = ANY (%(states)s::text[]) AND (%(exception)s::bigint IS NULL OR exception_id = %(exception)s::bigint)
ORDER BY exception_id DESC
LIMIT %(limit)s::bigint
