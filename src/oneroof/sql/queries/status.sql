-- workers --
SELECT worker_name, source_name, state, phase, lease_owner, tick_seconds, events_seen, dead_lettered, last_watermark_ts, lag_seconds,
       frontier_seconds, frontier_xids, window_open
FROM public.v_worker_status ORDER BY worker_name, source_name
