-- workers --
SELECT worker_name, source_name, state, phase, lease_owner, last_tick_status, tick_seconds, events_seen, dead_lettered, waiting, dead,
       last_watermark_ts, lag_seconds, frontier_seconds, frontier_xids, window_open, is_finished, is_late, pinned_by, batches_done,
       batches_estimate, rows_estimate, last_run_at, last_run_summary
FROM public.v_worker_status ORDER BY worker_name, source_name

-- depth --
SELECT dirty, stale, waiting, dead FROM public.v_governance_depth

-- horizon --
SELECT horizon, horizon_xids, pinned_by, pinned_seconds FROM public.v_horizon
