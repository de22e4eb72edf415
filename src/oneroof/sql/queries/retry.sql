-- due --
SELECT item_id, source_key FROM oneroof.governance_retry
WHERE worker_name = %(worker)s AND source_name = %(source)s AND state = 'waiting' AND next_attempt_at <= oneroof.gov_now()
ORDER BY next_attempt_at, item_id LIMIT %(most)s

-- standing --
-- State by state, in the order of the index that has both: by the primary key it would walk through all that are done.
SELECT r.item_id, r.source_key, r.row_xid FROM unnest('{waiting,dead}'::text[]) AS s (state)
CROSS JOIN LATERAL (SELECT i.item_id, i.source_key, i.row_xid FROM oneroof.governance_retry AS i
                    WHERE i.state = s.state AND i.item_id > %(after)s AND split_part(i.source_name, '#', 1) = %(scope)s
                    ORDER BY i.state, i.item_id LIMIT %(most)s) AS r
ORDER BY r.item_id LIMIT %(most)s

-- over --
-- Of these items the ones whose row is another version now that was applied: one below the frontier was, unless it is an item itself.
WITH over AS MATERIALIZED (
  SELECT i.item_id FROM unnest(%(items)s::bigint[], %(keys)s::text[], %(xids)s::bigint[]) AS i (item_id, source_key, row_xid)
  JOIN ({rows}) AS r ON r.source_key = i.source_key
  GROUP BY i.item_id
  HAVING bool_and(r.row_xid <> i.row_xid AND r.row_xid < %(frontier)s AND NOT EXISTS (
    SELECT FROM oneroof.governance_retry AS t
    WHERE t.key_mark = r.key_mark AND t.row_xid = r.row_xid AND t.state <> 'done' AND split_part(t.source_name, '#', 1) = %(scope)s))
)
SELECT CASE WHEN EXISTS (SELECT FROM over)
            THEN oneroof.gov_retry_end(ARRAY(SELECT o.item_id FROM over AS o), 'done'::text, 'applied again'::text) ELSE 0 END

-- aside --
-- Rows of items as they are, and what is wrong with how they are accounted, if anything is.
SELECT r.source_key, r.candidate_key, r.row_xid,
       CASE WHEN c.candidate_key IS NULL THEN 'missing' WHEN {buried} THEN 'reborn'
            WHEN (c.source_name, c.source_key) <> (%(scope)s::text, r.source_key)
            THEN CASE WHEN d.candidate_key IS DISTINCT FROM r.candidate_key THEN 'duplicates' END
            WHEN (c.facts_hash, c.group_key, c.grain) <> (r.facts_hash, r.group_key, r.grain) THEN 'drifted'
            WHEN d.source_key IS NOT NULL THEN 'noted' END
FROM ({rows}) AS r
LEFT JOIN LATERAL (SELECT k.* FROM oneroof.governance_candidate_state AS k WHERE k.candidate_key = r.candidate_key LIMIT 1) AS c ON true
LEFT JOIN oneroof.governance_object AS o ON o.candidate_key = c.candidate_key
LEFT JOIN oneroof.governance_duplicate AS d ON d.source_name = %(scope)s AND d.source_key = r.source_key
WHERE NOT r.own

-- finish --
SELECT oneroof.gov_retry_end(%(items)s::bigint[], 'done'::text, %(resolution)s::text)

-- know --
SELECT oneroof.gov_retry_know(%(scope)s::text, array_agg(r.source_key), array_agg(r.candidate_key)) FROM ({rows}) AS r WHERE NOT r.own

-- fail --
SELECT oneroof.gov_retry_fail(%(items)s::bigint[], %(sqlstate)s::text, %(error)s::text)

-- replay --
SELECT oneroof.gov_retry_replay(%(items)s::bigint[])

-- resolve --
SELECT oneroof.gov_retry_resolve(%(items)s::bigint[], %(reason)s::text)

-- listing --
-- Sorted, and not by the primary key, which would walk through all that are done.
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
