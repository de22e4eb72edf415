-- represented --
-- Some of the rows that another stands for: the last key, and the fingerprint of their notes, but for those that no row stands for.
SELECT max(d.source_key), count(*) FILTER (WHERE d.is_held), coalesce(sum(d.h) FILTER (WHERE d.is_held), 0),
       array_agg(d.source_key) FILTER (WHERE d.is_held)
FROM (SELECT d.source_key, {hash} AS h, {is_held} AS is_held FROM oneroof.governance_duplicate AS d
      WHERE d.source_name = %(source)s AND d.source_key > %(after)s ORDER BY d.source_key LIMIT %(most)s) AS d

-- is_held --
EXISTS (SELECT FROM oneroof.governance_candidate_state AS c WHERE c.candidate_key = d.candidate_key)

-- buckets --
SELECT {bucket}::int, count(*), sum(e.h) FROM ({hashes}) AS e GROUP BY 1

-- living --
-- The candidates of a source in a range of pages, but for those whose rows are known to be gone.
SELECT {hash} AS h FROM oneroof.governance_candidate_state AS c
WHERE c.source_name = %(source)s AND c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid
  AND NOT EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key
                  AND (o.facts @> '{{"state": {{"gone": true}}}}' OR o.facts @> '{{"state": {{"vanished": true}}}}'))

-- changes --
-- Rows of a range of pages whose candidates have other facts. Looked up row by row, by the index.
SELECT count(*)
FROM (SELECT {candidate} AS candidate_key, {key} AS source_key, {facts} AS facts_hash FROM {table} AS s WHERE {where}) AS r
WHERE (SELECT c.facts_hash <> r.facts_hash FROM oneroof.governance_candidate_state AS c
       WHERE c.candidate_key = r.candidate_key AND c.source_name = %(source)s AND c.source_key = r.source_key)

-- rows_alone --
-- Rows of a range of pages, in some buckets, that have no candidate of their own, by what accounts for them. Looked up row by
-- row, by indexes.
WITH row AS MATERIALIZED (
  SELECT {key} AS source_key, {candidate} AS candidate_key, {hash} AS h, {beyond} AS is_beyond, {xid} AS row_xid FROM {table} AS s WHERE {where}
), held AS MATERIALIZED (
  SELECT w.*, (SELECT (c.source_name, c.source_key) = (%(source)s, w.source_key)
               FROM oneroof.governance_candidate_state AS c WHERE c.candidate_key = w.candidate_key) AS is_mine
  FROM row AS w
), told AS MATERIALIZED (
  SELECT h.candidate_key, h.h, i.item_id,
         CASE WHEN i.state IN ('waiting', 'dead') THEN i.state WHEN h.is_mine = false THEN 'duplicate' WHEN h.is_beyond THEN 'awaiting'
              WHEN i.state = 'resolved' THEN 'resolved' ELSE 'omitted' END AS kind
  FROM held AS h
  -- An item speaks of one version; of one that is not yet due an older one does.
  LEFT JOIN LATERAL (
    SELECT t.item_id, t.state FROM oneroof.governance_retry AS t
    WHERE t.key_mark = oneroof.gov_key_mark(h.source_key) AND t.source_key = h.source_key AND (t.row_xid = h.row_xid OR h.is_beyond)
      AND t.state <> 'done' AND split_part(t.source_name, '#', 1) = %(source)s
    ORDER BY t.state = 'resolved', t.row_xid DESC LIMIT 1) AS i ON true
  WHERE h.is_mine IS NOT TRUE
)
SELECT r.kind, {bucket}::int, count(*), sum(r.h), (array_agg(left(r.candidate_key, 500) ORDER BY r.candidate_key COLLATE "C"))[1:%(names)s],
       (array_agg(r.item_id ORDER BY r.candidate_key COLLATE "C"))[1:%(names)s]
FROM told AS r GROUP BY 1, 2

-- notes --
-- Notes in some buckets that another stands for a row.
SELECT d.source_key FROM oneroof.governance_duplicate AS d
WHERE d.source_name = %(source)s AND d.source_key > %(after)s AND {bucket} = ANY (%(buckets)s::bigint[]) ORDER BY d.source_key LIMIT %(most)s

-- mine --
SELECT c.candidate_key FROM unnest(%(candidates)s::text[], %(keys)s::text[]) AS w (candidate_key, source_key)
JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = w.candidate_key AND c.source_key = w.source_key
WHERE c.source_name = %(source)s

-- candidates_alone --
-- The candidates of a range of pages, in some buckets, as one answer: candidate key, source key, version, and whether it is known
-- that its row is gone.
SELECT coalesce(jsonb_agg(jsonb_build_array(
         c.candidate_key, c.source_key, c.source_version::text,
         EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key
                 AND (o.facts @> '{{"state": {{"gone": true}}}}' OR o.facts @> '{{"state": {{"vanished": true}}}}')))), '[]'::jsonb)
FROM oneroof.governance_candidate_state AS c
WHERE {tids} AND c.source_name = %(source)s AND {bucket} = ANY (%(buckets)s::bigint[])

-- held --
SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c
WHERE c.candidate_key = ANY (%(keys)s::text[]) AND c.source_name = %(source)s

-- items --
-- Items of a source that are not over, but for those whose candidate is undecided for that.
SELECT t.item_id, t.source_key, t.row_xid FROM oneroof.governance_retry AS t
WHERE t.state IN ('waiting', 'dead') AND split_part(t.source_name, '#', 1) = %(source)s
  AND NOT EXISTS (SELECT FROM oneroof.governance_candidate_state AS c
                  WHERE c.candidate_key = t.candidate_key AND c.source_name = %(source)s AND c.undecided_reason IN ('retry', 'dead_letter'))

-- untold --
-- Of these items those whose row is the version that failed, or one that is not yet due, and has a candidate: whether that is of this
-- very version.
SELECT DISTINCT ON (r.candidate_key) i.item_id, r.candidate_key, c.source_version = r.source_version
FROM unnest(%(items)s::bigint[], %(keys)s::text[], %(xids)s::bigint[]) AS i (item_id, source_key, row_xid)
JOIN ({rows}) AS r ON r.source_key = i.source_key
JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = r.candidate_key AND c.source_name = %(source)s AND c.source_key = r.source_key
WHERE r.row_xid = i.row_xid OR r.row_xid >= %(frontier)s
ORDER BY r.candidate_key, i.row_xid DESC
