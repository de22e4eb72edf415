-- listing --
SELECT source_name, group_key, held, members, held_at, request_id, allowed, allowed_at
FROM oneroof.governance_vanishing
WHERE %(group)s::text IS NULL OR (group_key = %(group)s AND allowed IS NULL)
ORDER BY held_at, source_name, group_key LIMIT %(limit)s::bigint
