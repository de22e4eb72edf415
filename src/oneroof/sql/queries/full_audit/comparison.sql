-- row_sums --
-- What rows add up to, set of facts by set of facts: a list for each column, as PostgreSQL writes them, since only PostgreSQL reads them.
SELECT array_agg(g.facts_hash)::text, array_agg(g.many)::text, array_agg(g.total)::text, array_agg(g.newest)::text
FROM (SELECT r.facts_hash, count(*) AS many, sum(r.h) AS total, max(r.newest) AS newest FROM ({rows}) AS r GROUP BY 1) AS g

-- given_rows --
SELECT * FROM unnest(%(facts_0)s::bigint[], %(many_0)s::bigint[], %(totals_0)s::numeric[], %(newest_0)s::timestamptz[])
  AS u (facts_hash, many, total, newest)
UNION ALL
SELECT * FROM unnest(%(facts_1)s::bigint[], %(many_1)s::bigint[], %(totals_1)s::numeric[], %(newest_1)s::timestamptz[])

-- rows --
-- Add rows to their sets of facts, or take them away.
INSERT INTO oneroof.governance_audit_facts AS a (source_name, facts_hash, row_count, row_sum, newest)
SELECT %(scope)s, r.facts_hash, {sign} * sum(r.many), {sign} * sum(r.total), max(r.newest) FROM ({sums}) AS r GROUP BY 2
ON CONFLICT (source_name, facts_hash) DO UPDATE
SET row_count = a.row_count + excluded.row_count, row_sum = a.row_sum + excluded.row_sum, newest = greatest(a.newest, excluded.newest)

-- candidate_sums --
-- What candidates add up to, by their facts, groups and verdicts. Nearly all are as their facts say, and are told apart from the others,
-- which are odd: they alone have groups and verdicts of their own here, and may be suspect of having another verdict than they should.
SELECT array_agg(c.facts_hash)::text, array_agg(coalesce(c.odd[1], f.group_key))::text, array_agg(coalesce(c.odd[2], f.grain))::text,
       array_agg(coalesce(c.odd[3], f.verdict))::text, array_agg(coalesce(c.odd[4], f.undecided_reason, ''))::text,
       array_agg(coalesce(c.odd[5] = 'suspect', false))::text, array_agg(c.members)::text, array_agg(c.total)::text
FROM (
  SELECT c.facts_hash, x.odd, count(*) AS members, sum({hash}) AS total
  FROM oneroof.governance_candidate_state AS c
  LEFT JOIN (SELECT s.*, s.stale_after * 0.75 AS soonest FROM oneroof.governance_fact_set AS s WHERE s.source_name = %(scope)s) AS f
    ON f.facts_hash = c.facts_hash
  CROSS JOIN LATERAL (
    SELECT CASE
      WHEN NOT c.dirty AND c.verdict = f.verdict AND c.input_quality_state = f.input_state AND c.group_key = f.group_key AND c.grain = f.grain
           AND c.undecided_reason IS NOT DISTINCT FROM f.undecided_reason
           AND c.class_mark = f.class_mark
           -- As gov_expiry_holds says, but for months, which are not all alike; by a difference, which is much faster than a sum,
           -- and of nearly all is the time that they were given.
           AND CASE WHEN isfinite(c.stale_after) AND isfinite(c.scan_time)
                    THEN c.stale_after - c.scan_time = f.stale_after
                         OR c.stale_after - c.scan_time > f.soonest AND c.stale_after - c.scan_time < f.stale_after
                    ELSE c.stale_after IS NULL AND f.stale_after IS NULL END THEN NULL
      ELSE ARRAY[c.group_key, c.grain, c.verdict, coalesce(c.undecided_reason, ''), CASE
        WHEN (c.group_key, c.grain, c.class_mark) <> (f.group_key, f.grain, f.class_mark) THEN 'suspect' WHEN c.dirty OR f.is_dirty OR f.is_spreading THEN ''
        WHEN EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key) THEN '' ELSE 'suspect' END]
    END AS odd
  ) AS x
  WHERE c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid AND c.source_name = %(scope)s
  GROUP BY 1, 2
) AS c
LEFT JOIN oneroof.governance_fact_set AS f ON c.odd IS NULL AND f.source_name = %(scope)s AND f.facts_hash = c.facts_hash

-- objects --
-- Some of what is known of single objects: tombstones and what has vanished are taken away from their sets again, and a candidate
-- that has another verdict than its object is judged again. Answers the last key and how many.
WITH picked AS MATERIALIZED (
  SELECT o.* FROM oneroof.governance_object AS o WHERE o.candidate_key > %(after)s ORDER BY o.candidate_key LIMIT %(batch)s
), buried AS (
  INSERT INTO oneroof.governance_audit_facts AS a (source_name, facts_hash, candidate_count, candidate_sum)
  SELECT %(scope)s, c.facts_hash, -count(*), -sum({hash})
  FROM picked AS o JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key
  WHERE c.source_name = %(scope)s AND {buried} GROUP BY 2
  ON CONFLICT (source_name, facts_hash) DO UPDATE
  SET candidate_count = a.candidate_count + excluded.candidate_count, candidate_sum = a.candidate_sum + excluded.candidate_sum
), wrong AS MATERIALIZED (
  SELECT c.candidate_key FROM picked AS o JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key
  WHERE c.source_name = %(scope)s AND NOT c.dirty AND NOT o.is_dirty
    AND ((c.verdict, c.undecided_reason, c.input_quality_state) IS DISTINCT FROM (o.verdict, o.undecided_reason, o.input_state)
         OR NOT oneroof.gov_expiry_holds(c.stale_after, c.scan_time, o.stale_after))
  FOR UPDATE OF c
), marked AS (
  UPDATE oneroof.governance_candidate_state AS c
  SET dirty = true, dirty_reason = 'audit_verdict', dirtied_at = oneroof.gov_now(), input_quality_state = 'pending', updated_at = oneroof.gov_now()
  FROM wrong AS w WHERE c.candidate_key = w.candidate_key
  RETURNING 1
)
SELECT (SELECT max(p.candidate_key) FROM picked AS p), (SELECT count(*) FROM picked), (SELECT count(*) FROM marked)

-- buckets --
-- Add to buckets, or take away, which by XOR is the same: cheaper than a sum in so many groups. Keys and facts are hashed together,
-- so that keys which have each other's facts do not cancel out.
INSERT INTO oneroof.governance_audit_bucket AS a (source_name, bucket, members, hashes)
SELECT %(scope)s, k.h & %(mask)s::bigint, {sign} * count(*), bit_xor(k.h # k.facts_hash # hashint8extended(k.facts_hash, k.h))
FROM ({hashes}) AS k GROUP BY 2
ON CONFLICT (source_name, bucket) DO UPDATE SET members = a.members + excluded.members, hashes = a.hashes # excluded.hashes

-- row_hashes --
-- The limit lets both hashes of a row be made once, and not wherever they are asked for.
SELECT r.h, r.facts_hash FROM {table} AS s CROSS JOIN LATERAL (SELECT {hash} AS h, {facts} AS facts_hash LIMIT 1) AS r
WHERE {where} AND r.facts_hash = ANY (%(drifted)s::bigint[])

-- noted_hashes --
-- Of rows that another row's candidate stands for, and that are noted so.
SELECT {hash} AS h, r.facts_hash FROM ({rows}) AS r
JOIN oneroof.governance_duplicate AS d ON d.source_name = %(scope)s AND d.source_key = r.source_key AND d.candidate_key = r.candidate_key
JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = r.candidate_key
LEFT JOIN oneroof.governance_object AS o ON o.candidate_key = c.candidate_key
WHERE NOT r.own AND r.facts_hash = ANY (%(drifted)s::bigint[]) AND (c.source_name, c.source_key) <> (%(scope)s::text, r.source_key)
  AND NOT ({buried})

-- candidate_hashes --
SELECT {hash} AS h, c.facts_hash FROM oneroof.governance_candidate_state AS c
WHERE c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid AND c.source_name = %(scope)s AND c.facts_hash = ANY (%(drifted)s::bigint[])

-- buried_hashes --
SELECT {hash} AS h, c.facts_hash
FROM oneroof.governance_object AS o JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key
WHERE o.candidate_key = ANY (%(keys)s::text[]) AND c.source_name = %(scope)s AND c.facts_hash = ANY (%(drifted)s::bigint[]) AND {buried}

-- suspected --
-- Whether a hash is in a bucket that differs, or there are no buckets. They are read once, and looked up by hashing.
(%(mask)s::bigint = 0
 OR {hash} & %(mask)s::bigint IN (SELECT a.bucket FROM oneroof.governance_audit_bucket AS a
                                  WHERE a.source_name = %(scope)s AND (a.members, a.hashes) <> (0, 0)))

-- found --
-- Rows that are not accounted as they are. One that failed is accounted by its item.
SELECT r.source_key, r.candidate_key,
       CASE WHEN c.candidate_key IS NULL THEN 'missing' WHEN {buried} THEN 'reborn'
            WHEN (c.source_name, c.source_key) <> (%(scope)s::text, r.source_key) THEN 'duplicates'
            WHEN (c.facts_hash, c.group_key, c.grain) <> (r.facts_hash, r.group_key, r.grain) THEN 'drifted'
            ELSE 'noted' END
FROM ({rows}) AS r
-- Row by row, by the index: a join would read all candidates for every piece.
LEFT JOIN LATERAL (SELECT k.* FROM oneroof.governance_candidate_state AS k WHERE k.candidate_key = r.candidate_key LIMIT 1) AS c ON true
LEFT JOIN oneroof.governance_object AS o ON o.candidate_key = c.candidate_key
LEFT JOIN oneroof.governance_duplicate AS d ON d.source_name = %(scope)s AND d.source_key = r.source_key
WHERE NOT r.own
  AND CASE WHEN c.candidate_key IS NULL OR {buried} THEN true
           WHEN (c.source_name, c.source_key) <> (%(scope)s::text, r.source_key) THEN d.candidate_key IS DISTINCT FROM r.candidate_key
           ELSE d.source_key IS NOT NULL OR (c.facts_hash, c.group_key, c.grain) <> (r.facts_hash, r.group_key, r.grain) END
  AND NOT EXISTS (SELECT FROM oneroof.governance_retry AS t
                  WHERE t.key_mark = r.key_mark AND t.state IN ('waiting', 'dead') AND split_part(t.source_name, '#', 1) = %(scope)s)
LIMIT %(batch)s

-- mend --
-- Candidates of rows as these are now, dirty; a candidate of another row only where that row has no more claim to it.
INSERT INTO oneroof.governance_candidate_state AS c
  (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, class_mark, facts_hash, grain, dirty, dirty_reason,
   dirtied_at, source_snapshot_ref)
SELECT DISTINCT ON (candidate_key) candidate_key, %(ruleset)s, group_key, %(scope)s, source_key, source_version, class_mark, facts_hash, grain,
       true, 'audit_missing', (SELECT oneroof.gov_now()), (SELECT max(s.snapshot_ref)::text FROM oneroof.governance_snapshot AS s WHERE s.source_name = %(scope)s)
FROM ({rows}) AS b WHERE NOT own ORDER BY candidate_key, ts, place
ON CONFLICT (candidate_key) DO UPDATE
SET source_name = excluded.source_name, source_key = excluded.source_key, source_version = excluded.source_version,
    group_key = excluded.group_key, class_mark = excluded.class_mark, facts_hash = excluded.facts_hash, grain = excluded.grain,
    change_number = c.change_number + 1, input_quality_state = 'pending', dirty = true, dirty_reason = %(reason)s, dirtied_at = oneroof.gov_now(), updated_at = oneroof.gov_now(),
    source_snapshot_ref = excluded.source_snapshot_ref
WHERE (c.source_name, c.source_key) = (excluded.source_name, excluded.source_key) OR c.candidate_key = ANY (%(heirs)s::text[])
RETURNING candidate_key, source_key

-- accounted --
SELECT c.candidate_key, c.source_key
FROM oneroof.governance_candidate_state AS c
LEFT JOIN oneroof.governance_object AS o ON o.candidate_key = c.candidate_key
WHERE c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid AND c.source_name = %(scope)s
  AND c.facts_hash = ANY (%(drifted)s::bigint[]) AND {suspected} AND NOT ({buried})

-- lost --
-- Candidates without their row: it is not there, or it is another object now; one that was just written is the intake's affair.
SELECT k.candidate_key FROM unnest(%(candidates)s::text[], %(keys)s::text[]) AS k (candidate_key, source_key)
WHERE NOT EXISTS (SELECT FROM ({rows}) AS r WHERE r.source_key = k.source_key
                  AND (r.candidate_key = k.candidate_key OR r.row_xid >= %(frontier)s))

-- tear --
-- A note is right as long as its row is there, and another row's candidate stands for it; a birth's stands for itself.
DELETE FROM oneroof.governance_duplicate AS d
WHERE d.source_name = %(scope)s AND d.source_key = ANY (%(keys)s::text[])
  AND NOT EXISTS (
    SELECT FROM ({rows}) AS r
    JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = r.candidate_key
    LEFT JOIN oneroof.governance_object AS o ON o.candidate_key = c.candidate_key
    WHERE r.source_key = d.source_key AND r.candidate_key = d.candidate_key AND NOT ({buried})
      AND (c.source_name, c.source_key) <> (%(scope)s::text, r.source_key)
      AND (c.source_name = %(scope)s::text OR EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = c.source_name AND s.births)
           OR NOT EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = %(scope)s::text AND s.births)))

-- unnote --
DELETE FROM oneroof.governance_duplicate AS d WHERE d.source_name = %(scope)s AND d.source_key = ANY (%(keys)s::text[])

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
