-- due --
SELECT item_id, source_key FROM public.governance_retry
WHERE worker_name = %(worker)s AND source_name = %(source)s AND state = 'waiting' AND next_attempt_at <= public.gov_now()
ORDER BY next_attempt_at, item_id LIMIT %(most)s

-- finish --
SELECT public.gov_retry_end(%(items)s::bigint[], 'done'::text, NULL::text)

-- know --
SELECT public.gov_retry_know(%(scope)s::text, array_agg(r.source_key), array_agg(r.candidate_key)) FROM ({rows}) AS r WHERE NOT r.own

-- fail --
SELECT public.gov_retry_fail(%(items)s::bigint[], %(sqlstate)s::text, %(error)s::text)

-- replay --
SELECT public.gov_retry_replay(%(items)s::bigint[])

-- resolve --
SELECT public.gov_retry_resolve(%(items)s::bigint[], %(reason)s::text)

-- listing --
-- Sorted, and not by the primary key, which would walk through all that are done.
SELECT item_id, worker_name, source_name, source_key, state, attempts, next_attempt_at, sqlstate, last_error, died_at, resolved_by,
       resolution, created_at, updated_at
FROM public.governance_retry
WHERE state = ANY (%(states)s::text[]) AND (%(worker)s::text IS NULL OR worker_name = %(worker)s)
  AND (%(source)s::text IS NULL OR source_name = %(source)s OR split_part(source_name, '#', 1) = %(source)s)
  AND (%(error)s::text IS NULL OR last_error ILIKE '%%' || %(error)s || '%%' OR sqlstate = %(error)s)
ORDER BY item_id + 0 LIMIT %(most)s

-- find --
SELECT item_id, worker_name, source_name, source_key, state, attempts, next_attempt_at, sqlstate, last_error, died_at, resolved_by,
       resolution, created_at, updated_at
FROM public.governance_retry WHERE item_id = %(item)s
