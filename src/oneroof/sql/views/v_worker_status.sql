-- Every cursor with the liveness of its executor: working, quiet, or dead (holds a lease and has not ticked for two TTLs).
CREATE VIEW public.v_worker_status AS
SELECT
  c.worker_name, c.source_name, c.phase, c.events_seen, c.dead_lettered, c.last_run_at,
  c.last_watermark_ts::text AS last_watermark_ts,
  CASE WHEN isfinite(c.last_watermark_ts) THEN extract(epoch FROM public.gov_now() - c.last_watermark_ts)::float8 END AS lag_seconds,
  extract(epoch FROM public.gov_now() - c.frontier_at)::float8 AS frontier_seconds,
  pg_snapshot_xmax(pg_current_snapshot())::text::bigint - c.frontier::text::bigint AS frontier_xids,
  c.window_horizon IS NOT NULL AS window_open,
  h.lease_owner,
  extract(epoch FROM public.gov_now() - h.last_tick_at)::float8 AS tick_seconds,
  CASE
    WHEN h.lease_owner IS NULL OR h.lease_owner = '' THEN 'released'
    WHEN h.last_tick_at < public.gov_now() - interval '60 seconds' THEN 'dead'
    WHEN c.last_run_at > public.gov_now() - interval '10 seconds' THEN 'working'
    ELSE 'quiet'
  END AS state
FROM public.gov_worker_cursor AS c
LEFT JOIN public.queue_heartbeat AS h ON h.executor_name = c.worker_name || ':' || c.source_name;
