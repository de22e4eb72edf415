-- workers --
SELECT worker_name, source_name, state, phase, lease_owner, last_tick_status, tick_seconds, events_seen, dead_lettered, waiting, dead,
       last_watermark_ts, lag_seconds, frontier_seconds, frontier_xids, window_open, is_finished, is_late, pinned_by, batches_done,
       batches_estimate, rows_estimate, last_run_at, last_run_summary
FROM oneroof.v_worker_status ORDER BY worker_name, source_name

-- depth --
SELECT dirty, stale, waiting, dead FROM oneroof.v_governance_depth

-- horizon --
SELECT horizon, horizon_xids, pinned_by, pinned_seconds FROM oneroof.v_horizon

-- books --
SELECT source_name, total, governed, inherited, covered + inherited_covered AS covered, orphan + inherited_orphan AS orphan,
       approved_exception + inherited_approved_exception AS approved_exception, retired + inherited_retired AS retired,
       stale + inherited_stale AS stale, deferred_birth + inherited_deferred_birth AS deferred_birth,
       class_0 + inherited_class_0 AS class_0, undecided + inherited_undecided AS undecided
FROM oneroof.v_governance_books ORDER BY source_name

-- has_owners --
SELECT EXISTS (SELECT FROM oneroof.v_active_ownership)

-- to_sweep --
SELECT greatest(coalesce(sum(greatest(k.reltuples, 0)), 0)::bigint - coalesce(sum(d.seen), 0)::bigint, 0)
FROM oneroof.governance_source AS g
JOIN pg_catalog.pg_class AS k ON k.oid = g.relation
LEFT JOIN LATERAL (
  SELECT sum(c.events_seen) AS seen, bool_or(c.frontier IS NOT NULL AND c.source_name = g.source_name) AS swept
  FROM oneroof.gov_worker_cursor AS c
  WHERE c.worker_name = 'gov_backfill_sweep' AND split_part(c.source_name, '#', 1) = g.source_name
) AS d ON true
WHERE g.source_kind = 'inventory' AND d.swept IS NOT TRUE
