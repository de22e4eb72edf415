-- horizon --
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xid,
       (SELECT system_identifier::text FROM pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS identity

-- ensure --
INSERT INTO public.gov_worker_cursor (worker_name, source_name) VALUES (%(worker)s, %(source)s) ON CONFLICT DO NOTHING

-- read --
SELECT worker_name, source_name, phase, last_watermark_ts::text, last_watermark_id, watermark_text, frontier::text::bigint AS frontier,
       window_horizon::text::bigint AS window_horizon, window_at, cluster_identity, events_seen, metadata
FROM public.gov_worker_cursor WHERE worker_name = %(worker)s AND source_name = %(source)s

-- open_window --
UPDATE public.gov_worker_cursor
SET window_horizon = %(horizon)s::xid8, window_at = NULL, phase = %(phase)s,
    frontier = CASE WHEN cluster_identity = %(identity)s THEN frontier END, cluster_identity = %(identity)s
WHERE worker_name = %(worker)s AND source_name = %(source)s

-- advance --
UPDATE public.gov_worker_cursor AS c
SET window_at = %(at)s,
    last_watermark_ts = greatest(c.last_watermark_ts, m.ts),
    last_watermark_id = CASE WHEN m.ts >= coalesce(c.last_watermark_ts, '-infinity') THEN %(key)s::text ELSE c.last_watermark_id END,
    watermark_text = CASE WHEN m.ts >= coalesce(c.last_watermark_ts, '-infinity') THEN %(text)s::text ELSE c.watermark_text END,
    events_seen = c.events_seen + %(seen)s, attempts_written = c.attempts_written + %(seen)s,
    last_run_at = public.gov_now(), last_run_summary = %(summary)s
FROM (SELECT %(text)s::text::timestamptz AS ts) AS m
WHERE c.worker_name = %(worker)s AND c.source_name = %(source)s

-- close_window --
UPDATE public.gov_worker_cursor
SET frontier = window_horizon, frontier_at = public.gov_now(), window_horizon = NULL, window_at = NULL, phase = %(phase)s
WHERE worker_name = %(worker)s AND source_name = %(source)s

-- prune --
DELETE FROM public.governance_open_row AS o USING public.gov_worker_cursor AS c
WHERE c.worker_name = %(worker)s AND c.source_name = %(source)s AND o.worker_name = c.worker_name
  AND o.source_name = c.source_name AND o.row_xid < c.frontier::text::bigint

-- start --
UPDATE public.gov_worker_cursor SET frontier = %(frontier)s::xid8, frontier_at = public.gov_now(), cluster_identity = %(identity)s,
  phase = 'incremental'
WHERE worker_name = %(worker)s AND source_name = %(source)s

-- backfilled --
SELECT frontier::text::bigint FROM public.gov_worker_cursor
WHERE worker_name = 'gov_backfill_sweep' AND source_name = %(source)s AND frontier IS NOT NULL

-- blocks --
-- The longest of the tables that hold the rows; an ordinary table is in no partition tree.
SELECT coalesce(max(pg_relation_size(t.relid) / current_setting('block_size')::bigint), 0)
FROM (SELECT relid FROM pg_partition_tree(%(relation)s::text::regclass) WHERE isleaf
      UNION SELECT %(relation)s::text::regclass) AS t

-- since --
-- Where the fast lane begins: a little behind the latest row, and not after the oldest open transaction began.
SELECT (least(coalesce(c.last_watermark_ts, c.frontier_at),
              (SELECT min(xact_start) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'))
        - %(overlap)s::interval)::timestamp::text
FROM public.gov_worker_cursor AS c WHERE c.worker_name = %(worker)s AND c.source_name = %(source)s

-- rested --
SELECT coalesce(extract(epoch FROM public.gov_now() - frontier_at), 1e9)::float8
FROM public.gov_worker_cursor WHERE worker_name = %(worker)s AND source_name = %(source)s
