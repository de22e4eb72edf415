-- backfill_sweep --
-- Sweeps that are not at their end, and items whose time to be tried again has come.
SELECT n.name FROM unnest(%(names)s::text[]) AS n (name)
LEFT JOIN oneroof.gov_worker_cursor AS c ON c.worker_name = 'gov_backfill_sweep' AND c.source_name = n.name
WHERE c.frontier IS NULL OR c.window_horizon IS NOT NULL
   OR EXISTS (SELECT FROM oneroof.governance_retry AS r
              WHERE r.worker_name = 'gov_backfill_sweep' AND r.source_name = n.name AND r.state = 'waiting'
                AND r.next_attempt_at <= (SELECT oneroof.gov_now()))

-- handoff_intake --
-- Sources of which the server has counted another number of writes than is known; -1 where nothing is counted. Also a frontier pass
-- under way, a first sweep that has ended, items to be tried again, and coalescing windows that are over.
WITH RECURSIVE leaf (name, relid) AS (
  SELECT s.source_name, s.relation::oid FROM oneroof.governance_source AS s WHERE s.source_name = ANY (%(names)s::text[])
  UNION SELECT l.name, h.inhrelid FROM pg_catalog.pg_inherits AS h JOIN leaf AS l ON h.inhparent = l.relid
), counted AS (
  SELECT l.name, CASE WHEN current_setting('track_counts')::boolean
                      THEN sum(pg_stat_get_tuples_inserted(l.relid) + pg_stat_get_tuples_updated(l.relid) + pg_stat_get_tuples_deleted(l.relid))::bigint
                      ELSE -1 END AS written
  FROM leaf AS l GROUP BY l.name
)
SELECT n.name, w.written
FROM unnest(%(names)s::text[], %(known)s::bigint[]) AS n (name, known)
JOIN counted AS w ON w.name = n.name
LEFT JOIN oneroof.gov_worker_cursor AS c ON c.worker_name = 'gov_handoff_intake' AND c.source_name = n.name
WHERE w.written IS DISTINCT FROM n.known OR c.window_horizon IS NOT NULL
   OR (c.frontier IS NULL AND EXISTS (
     SELECT FROM oneroof.gov_worker_cursor AS b
     WHERE b.worker_name = 'gov_backfill_sweep' AND b.source_name = n.name AND b.frontier IS NOT NULL))
   OR EXISTS (SELECT FROM oneroof.governance_retry AS r
              WHERE r.worker_name = 'gov_handoff_intake' AND r.source_name = n.name AND r.state = 'waiting'
                AND r.next_attempt_at <= (SELECT oneroof.gov_now()))
   OR EXISTS (SELECT FROM oneroof.governance_handoff AS h
              WHERE h.source_name = n.name AND h.changes > h.told AND h.window_end <= (SELECT oneroof.gov_now()))

-- signals --
SELECT n.name FROM unnest(%(names)s::text[]) AS n (name)
WHERE EXISTS (SELECT FROM oneroof.governance_untold AS u WHERE u.source_name = n.name)

-- input_gate --
-- As `is_waiting` of judgement/judgements.sql, of many sources.
SELECT n.name FROM unnest(%(names)s::text[]) AS n (name)
WHERE EXISTS (SELECT FROM oneroof.governance_candidate_state AS c
              WHERE c.source_name = n.name AND c.dirty AND (c.input_quality_state = 'pending') = true)
   OR EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.source_name = n.name AND f.is_dirty)
UNION
SELECT c.source_name
FROM (SELECT o.candidate_key FROM oneroof.governance_object AS o WHERE o.is_dirty LIMIT 1000) AS d
JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = d.candidate_key

-- candidate_scan --
-- As `is_moving_on` of judgement/judgements.sql, of many sources; the empty name means marks of groups, which any scan can take.
SELECT n.name FROM unnest(%(names)s::text[]) AS n (name)
WHERE EXISTS (SELECT FROM oneroof.governance_candidate_state AS c WHERE c.source_name = n.name AND c.dirty)
   OR EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.source_name = n.name AND f.is_dirty)
   OR EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.source_name = n.name AND f.is_spreading)
UNION
SELECT c.source_name
FROM ((SELECT o.candidate_key FROM oneroof.governance_object AS o WHERE o.is_dirty LIMIT 1000)
      UNION ALL
      (SELECT o.candidate_key FROM oneroof.governance_object AS o
       WHERE NOT o.is_settled AND (o.settles_until IS NULL OR o.settles_until < pg_snapshot_xmin(pg_current_snapshot())) LIMIT 1000)) AS d
JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = d.candidate_key
UNION
SELECT e.source_name
FROM (SELECT c.source_name, c.stale_after FROM oneroof.governance_candidate_state AS c
      WHERE c.stale_after IS NOT NULL ORDER BY c.stale_after LIMIT 1) AS e
WHERE e.stale_after <= (SELECT oneroof.gov_now())
UNION
SELECT '' WHERE EXISTS (SELECT FROM oneroof.governance_group_mark AS k WHERE k.dirty)

-- moved --
-- Sources whose books have moved, or what is known of single objects, since this was the oldest transaction: their findings are counted.
SELECT DISTINCT l.source_name FROM oneroof.governance_ledger AS l WHERE age(l.xmin) <= (SELECT age(%(since)s::text::xid))
UNION
SELECT c.source_name FROM oneroof.governance_object AS o JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key
WHERE age(o.xmin) <= (SELECT age(%(since)s::text::xid))

-- uncounted --
-- Sources of which something has moved, or has never been counted, since their findings were; as in gov_findings_count.
SELECT DISTINCT c.source_name
FROM oneroof.governance_class AS c
CROSS JOIN LATERAL (SELECT age(c.counted_xid::xid) AS past) AS d
WHERE c.counted_xid IS NULL OR d.past < 0
   OR EXISTS (SELECT FROM oneroof.governance_fact_set AS f
              WHERE f.source_name = c.source_name AND f.class = c.class
                AND (age(f.xmin) <= d.past
                     OR EXISTS (SELECT FROM oneroof.governance_ledger AS l
                                WHERE l.source_name = f.source_name AND l.group_key = f.group_key AND age(l.xmin) <= d.past)))
UNION
SELECT k.source_name FROM oneroof.governance_object AS o JOIN oneroof.governance_candidate_state AS k ON k.candidate_key = o.candidate_key
UNION
SELECT g.source_name FROM oneroof.governance_class_finding AS g WHERE NOT g.is_told

-- periodic_full_audit --
-- Audits that are under way or due, of sources that were swept.
SELECT n.name FROM unnest(%(names)s::text[]) AS n (name)
JOIN oneroof.gov_worker_cursor AS b ON b.worker_name = 'gov_backfill_sweep' AND b.source_name = n.name AND b.frontier IS NOT NULL
LEFT JOIN oneroof.gov_worker_cursor AS i ON i.worker_name = 'gov_handoff_intake' AND i.source_name = n.name
LEFT JOIN oneroof.gov_worker_cursor AS a ON a.worker_name = 'gov_periodic_full_audit' AND a.source_name = n.name
WHERE (i.frontier IS NOT NULL OR i.phase IS NULL)
  AND (a.window_at IS NOT NULL OR coalesce(a.passed_at, a.frontier_at) IS NULL
       OR coalesce(a.passed_at, a.frontier_at) <= (SELECT oneroof.gov_now()) - make_interval(secs => %(interval)s::float8))
