-- raise --
SELECT oneroof.gov_finding_raise(%(type)s::text, %(subject)s::text, %(title)s::text, %(details)s::jsonb)

-- keep --
SELECT oneroof.gov_finding_keep(%(type)s::text, %(subject)s::text, %(title)s::text, %(details)s::jsonb)

-- clear --
SELECT oneroof.gov_finding_clear(%(type)s::text, %(subject)s::text)

-- open --
SELECT coalesce_key, issue_type, subject, issue_id, severity, status, owner_ref, title, details, occurrence_count, reopen_count,
       first_seen_at, last_seen_at
FROM oneroof.v_finding WHERE is_open
  AND (%(bucket)s::text IS NULL
       OR issue_type IN (SELECT t.issue_type FROM oneroof.governance_finding_type AS t WHERE t.bucket = %(bucket)s::text))
ORDER BY array_position(ARRAY['critical', 'high', 'medium', 'low'], severity), coalesce_key
LIMIT %(limit)s::bigint

-- count_open --
SELECT count(*) FROM oneroof.v_finding WHERE is_open
