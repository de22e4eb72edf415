-- is_waiting --
-- Whether there is anything for the gate: a candidate that waits for it, or facts that are to be judged.
SELECT EXISTS (SELECT FROM oneroof.governance_candidate_state AS c
               WHERE c.source_name = %(source)s AND c.dirty AND (c.input_quality_state = 'pending') = true)
    OR EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.source_name = %(source)s AND f.is_dirty)
    OR EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.is_dirty)

-- is_moving_on --
-- Whether there is anything for the scan: marks, dirty candidates, facts to be judged or told, or verdicts whose time is over.
SELECT EXISTS (SELECT FROM oneroof.governance_group_mark AS k WHERE k.dirty)
    OR EXISTS (SELECT FROM oneroof.governance_candidate_state AS c WHERE c.source_name = %(source)s AND c.dirty)
    OR EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.source_name = %(source)s AND f.is_dirty)
    OR EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.source_name = %(source)s AND f.is_spreading)
    OR EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.is_dirty)
    OR EXISTS (SELECT FROM oneroof.governance_object AS o
               WHERE NOT o.is_settled AND (o.settles_until IS NULL OR o.settles_until < pg_snapshot_xmin(pg_current_snapshot())))
    OR (SELECT min(c.stale_after) FROM oneroof.governance_candidate_state AS c) <= (SELECT oneroof.gov_now())

-- learn --
INSERT INTO oneroof.governance_fact_set (source_name, facts_hash, group_key, class, grain, row_facts)
SELECT %(scope)s, f.facts_hash, f.group_key, left(coalesce(f.class, ''), 500), f.grain, f.row_facts FROM ({facts}) AS f
ON CONFLICT DO NOTHING

-- classless --
-- Whether some fact set is of a class that nobody has looked at.
SELECT EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.source_name = %(source)s AND f.is_dirty
  AND NOT EXISTS (SELECT FROM oneroof.governance_class AS c WHERE c.source_name = f.source_name AND c.class = f.class))

-- refresh --
SELECT oneroof.gov_classes_refresh() + oneroof.gov_objects_refresh() + oneroof.gov_inventory_gaps()

-- absorb --
SELECT a.taken, a.remaining FROM oneroof.gov_handoffs_absorb(%(most)s::bigint) AS a

-- judge --
SELECT oneroof.gov_fact_sets_judge(%(source)s::text, %(most)s::bigint), oneroof.gov_objects_judge(%(source)s::text, %(most)s::bigint)

-- unknown --
-- Rows of dirty candidates whose facts nobody has met.
SELECT c.source_key FROM oneroof.governance_candidate_state AS c
WHERE c.source_name = %(source)s AND c.dirty AND (c.input_quality_state = 'pending') = true
  AND NOT EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.source_name = c.source_name AND f.facts_hash = c.facts_hash)
  -- Of a row that is known not to be there nothing can be learned.
  AND NOT EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key
                  AND (o.facts @> '{"state": {"vanished": true}}' OR o.facts @> '{"state": {"gone": true}}'))
LIMIT %(most)s

-- vanish --
SELECT oneroof.gov_candidates_vanish(%(source)s::text, %(keys)s::text[])

-- mark --
SELECT oneroof.gov_gate_mark(%(source)s::text, %(most)s::bigint)

-- apply --
SELECT oneroof.gov_scan_apply(%(source)s::text, %(most)s::bigint)

-- spread --
SELECT oneroof.gov_scan_spread(%(source)s::text, %(most)s::bigint)

-- expire --
SELECT oneroof.gov_scan_expire(%(source)s::text, %(most)s::bigint)

-- is_moving --
-- Whether some candidate waits for its verdict, or somebody is in the middle of finding out what has changed.
SELECT EXISTS (SELECT FROM oneroof.governance_candidate_state AS c WHERE c.source_name = %(source)s AND c.dirty)
    OR EXISTS (SELECT FROM oneroof.gov_worker_cursor AS w
               WHERE w.source_name = %(source)s AND w.worker_name IN ('gov_handoff_intake', 'gov_backfill_sweep') AND w.window_horizon IS NOT NULL)

-- has_moved --
-- Whether the books have moved, or what is known of single objects, since everybody was finished who was not yet when they were last
-- counted.
SELECT EXISTS (SELECT FROM oneroof.governance_ledger AS l WHERE l.source_name = %(source)s AND age(l.xmin) <= (SELECT age(%(since)s::text::xid)))
    OR EXISTS (SELECT FROM oneroof.governance_object AS o WHERE age(o.xmin) <= (SELECT age(%(since)s::text::xid)))

-- horizon --
SELECT pg_snapshot_xmin(pg_current_snapshot())::xid::text

-- count --
SELECT c.changed, c.remaining FROM oneroof.gov_findings_count(%(source)s::text, %(most)s::bigint) AS c

-- tell --
SELECT oneroof.gov_findings_tell(%(source)s::text, %(most)s::bigint)

-- made --
-- Fact sets behind a hash: whether their facts still are those that make it.
SELECT max(p.facts_hash), count(*),
       array_agg(p.facts_hash) FILTER (WHERE (p.facts_hash, p.group_key, p.grain, p.class)
                                       IS DISTINCT FROM (p.made_hash, p.made_group, p.made_grain, left(coalesce(p.made_class, ''), 500)))
FROM (
  SELECT f.facts_hash, f.group_key, f.grain, f.class, {hash} AS made_hash, {group} AS made_group, {grain} AS made_grain, {kind} AS made_class
  FROM oneroof.governance_fact_set AS f CROSS JOIN LATERAL (SELECT {columns}) AS s
  WHERE f.source_name = %(source)s AND f.facts_hash > %(after)s
    AND (%(since)s::text IS NULL OR age(f.xmin) <= (SELECT age(%(since)s::text::xid)))
  ORDER BY f.facts_hash LIMIT %(most)s
) AS p

-- doubt --
SELECT oneroof.gov_fact_sets_forget(%(source)s::text, %(wrong)s::bigint[]),
       oneroof.gov_fact_sets_doubt(%(source)s::text, %(after)s::bigint, %(most)s::bigint, %(since)s::text)

-- doubt_objects --
SELECT oneroof.gov_objects_doubt(%(source)s::text, %(after)s::text, %(most)s::bigint, %(since)s::text)

-- doubted --
UPDATE oneroof.gov_worker_cursor SET metadata = metadata || %(known)s::jsonb WHERE cursor_id = %(cursor)s
