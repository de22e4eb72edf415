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

-- classless --
-- Whether some fact set is of a class that was not read yet.
SELECT EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.source_name = %(source)s AND f.is_dirty
  AND NOT EXISTS (SELECT FROM oneroof.governance_class AS c WHERE c.source_name = f.source_name AND c.class = f.class))

-- refresh --
SELECT oneroof.gov_classes_refresh() + oneroof.gov_objects_refresh() + oneroof.gov_inventory_gaps()

-- absorb --
SELECT a.taken, a.remaining FROM oneroof.gov_group_marks_take(%(most)s::bigint) AS a

-- judge --
SELECT oneroof.gov_fact_sets_judge(%(source)s::text, %(most)s::bigint), oneroof.gov_objects_judge(%(source)s::text, %(most)s::bigint)

-- mark --
SELECT oneroof.gov_input_mark(%(source)s::text, %(most)s::bigint)

-- apply --
SELECT oneroof.gov_scan_apply(%(source)s::text, %(most)s::bigint)

-- spread --
SELECT oneroof.gov_scan_spread(%(source)s::text, %(most)s::bigint)

-- expire --
SELECT oneroof.gov_scan_expire(%(source)s::text, %(most)s::bigint)

-- is_moving --
-- Whether some candidate waits for its verdict, or a refresh is under way.
SELECT EXISTS (SELECT FROM oneroof.governance_candidate_state AS c WHERE c.source_name = %(source)s AND c.dirty)
    OR EXISTS (SELECT FROM oneroof.gov_worker_cursor AS w
               WHERE w.source_name = %(source)s AND w.worker_name IN ('gov_handoff_intake', 'gov_backfill_sweep') AND w.window_horizon IS NOT NULL)

-- tell --
SELECT oneroof.gov_findings_raise(%(source)s::text, %(most)s::bigint)
