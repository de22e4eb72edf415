-- due --
SELECT item_id, source_key FROM oneroof.governance_retry
WHERE worker_name = %(worker)s AND source_name = %(source)s AND state = 'waiting' AND next_attempt_at <= oneroof.gov_now()
ORDER BY next_attempt_at, item_id LIMIT %(most)s

-- standing --
-- State by state, in the order of the index that has both: by the primary key it would read all that are done.
SELECT r.item_id, r.source_key, r.row_xid FROM unnest('{waiting,dead}'::text[]) AS s (state)
CROSS JOIN LATERAL (SELECT i.item_id, i.source_key, i.row_xid FROM oneroof.governance_retry AS i
                    WHERE i.state = s.state AND i.item_id > %(after)s AND split_part(i.source_name, '#', 1) = %(scope)s
                    ORDER BY i.state, i.item_id LIMIT %(most)s) AS r
ORDER BY r.item_id LIMIT %(most)s

-- finish --
SELECT oneroof.gov_retry_end(%(items)s::bigint[], 'done'::text, %(resolution)s::text)

-- fail --
SELECT oneroof.gov_retry_fail(%(items)s::bigint[], %(sqlstate)s::text, %(error)s::text)

-- replay --
SELECT oneroof.gov_retry_replay(%(items)s::bigint[])

-- resolve --
SELECT oneroof.gov_retry_resolve(%(items)s::bigint[], %(reason)s::text)

-- listing --
-- Sorted, and not by the primary key, which would read all that are done.
SELECT item_id, worker_name, source_name, source_key, state, attempts, next_attempt_at, sqlstate, last_error, died_at, resolved_by,
       resolution, created_at, updated_at
FROM oneroof.governance_retry
WHERE state = ANY (%(states)s::text[]) AND (%(worker)s::text IS NULL OR worker_name = %(worker)s)
  AND (%(source)s::text IS NULL OR source_name = %(source)s OR split_part(source_name, '#', 1) = %(source)s)
  AND (%(error)s::text IS NULL OR last_error ILIKE '%%' || %(error)s || '%%' OR sqlstate = %(error)s)
ORDER BY item_id + 0 LIMIT %(most)s

-- find --
SELECT item_id, worker_name, source_name, source_key, state, attempts, next_attempt_at, sqlstate, last_error, died_at, resolved_by,
       resolution, created_at, updated_at
FROM oneroof.governance_retry WHERE item_id = %(item)s
