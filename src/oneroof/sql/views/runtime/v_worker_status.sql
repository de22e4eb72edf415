-- Every cursor with the liveness of its executor (doc 39 §39.6; docs/explanation/runtime/watch.md):
--   paused    its policy says so           released  no instance holds its lease
--   dead      holds a lease, no tick for one and a half TTLs, so that a finding is there within two
--   blind     ticks, but the horizon is pinned and its frontier cannot move
--   working   did something within ten seconds        quiet  ticks, and there is nothing to do
-- How many rows a tail is behind cannot be known without reading them, so the lag is in seconds and xids; only a first
-- sweep has an estimate of its whole, from the planner's statistics, NULL where the source was never analysed.
CREATE VIEW oneroof.v_worker_status AS
SELECT
  c.worker_name, c.source_name, s.state, c.phase,
  h.lease_owner, h.last_tick_at, h.last_tick_status, extract(epoch FROM t.at - h.last_tick_at)::float8 AS tick_seconds,
  c.events_seen, c.dead_lettered, r.waiting, r.dead,
  c.last_watermark_ts::text AS last_watermark_ts,
  CASE WHEN isfinite(c.last_watermark_ts) THEN extract(epoch FROM t.at - c.last_watermark_ts)::float8 END AS lag_seconds,
  c.frontier::text::bigint AS frontier, c.frontier_at,
  extract(epoch FROM t.at - c.frontier_at)::float8 AS frontier_seconds,
  pg_snapshot_xmax(pg_current_snapshot())::text::bigint - c.frontier::text::bigint AS frontier_xids,
  c.window_horizon IS NOT NULL AS window_open,
  l.is_finished,
  NOT l.is_finished AND s.state <> 'paused' AND l.in_hours AND coalesce(c.frontier_at < t.at - p.lag_limit, false) AS is_late,
  CASE WHEN l.is_pinned THEN z.pinned_by END AS pinned_by,
  CASE WHEN jsonb_typeof(c.metadata -> 'batches') = 'number' THEN (c.metadata ->> 'batches')::numeric::bigint ELSE 0 END AS batches_done,
  ceil(e.estimate / p.batch_size)::bigint AS batches_estimate,
  round(e.estimate)::bigint AS rows_estimate,
  c.last_run_at, c.last_run_summary
FROM oneroof.gov_worker_cursor AS c
CROSS JOIN (SELECT n.at, (n.at AT TIME ZONE 'UTC')::time AS clock FROM (SELECT oneroof.gov_now() AS at) AS n) AS t
CROSS JOIN oneroof.v_horizon AS z
-- A worker without a policy has the defaults of one.
LEFT JOIN oneroof.governance_worker_policy AS w USING (worker_name)
CROSS JOIN LATERAL (
  SELECT coalesce(w.lease_ttl, interval '30 seconds') AS lease_ttl, coalesce(w.lag_limit, interval '5 minutes') AS lag_limit,
         coalesce(w.batch_size, 5000)::numeric AS batch_size,
         greatest(3 * coalesce(w.sweep_interval, interval '10 seconds'), interval '15 seconds') AS patience
) AS p
LEFT JOIN LATERAL (
  SELECT nullif(q.lease_owner, '') AS lease_owner, q.last_tick_at, q.last_tick_status
  FROM host.queue_heartbeat AS q WHERE q.executor_name = c.worker_name || ':' || c.source_name
  ORDER BY q.last_tick_at DESC LIMIT 1
) AS h ON true
CROSS JOIN LATERAL (
  -- A sweep that has closed its window has nothing left that it could be late for.
  SELECT c.worker_name = 'gov_backfill_sweep' AND c.window_horizon IS NULL AND c.frontier IS NOT NULL AS is_finished,
         -- Off its hours a worker is not late.
         CASE WHEN w.off_peak_from < w.off_peak_to THEN t.clock >= w.off_peak_from AND t.clock < w.off_peak_to
              WHEN w.off_peak_from > w.off_peak_to THEN t.clock >= w.off_peak_from OR t.clock < w.off_peak_to
              ELSE true END AS in_hours,
         c.frontier_at < t.at - p.patience AND c.frontier::text::bigint >= z.horizon AS is_pinned
) AS l
CROSS JOIN LATERAL (
  SELECT CASE
    WHEN w.paused_at IS NOT NULL THEN 'paused'
    WHEN h.lease_owner IS NULL THEN 'released'
    WHEN h.last_tick_at < t.at - 1.5 * p.lease_ttl THEN 'dead'
    WHEN l.is_pinned AND NOT l.is_finished THEN 'blind'
    WHEN c.last_run_at > t.at - interval '10 seconds' THEN 'working'
    ELSE 'quiet'
  END AS state
) AS s
CROSS JOIN LATERAL (
  SELECT (SELECT count(*) FROM oneroof.governance_retry AS g
          WHERE g.worker_name = c.worker_name AND g.source_name = c.source_name AND g.state = 'waiting') AS waiting,
         (SELECT count(*) FROM oneroof.governance_retry AS g
          WHERE g.worker_name = c.worker_name AND g.source_name = c.source_name AND g.state = 'dead') AS dead
) AS r
LEFT JOIN LATERAL (
  -- A shard, birth_registry#1/2, has its share of the table.
  SELECT (CASE WHEN bool_and(k.reltuples >= 0) THEN sum(k.reltuples) END
          / coalesce(substring(c.source_name FROM '#[0-9]+/([1-9][0-9]*)$')::numeric, 1))::numeric AS estimate
  FROM oneroof.governance_source AS g
  -- The tables that hold the rows; an ordinary table is in no partition tree.
  CROSS JOIN LATERAL (
    SELECT g.relation AS relid UNION SELECT f.relid FROM pg_partition_tree(g.relation) AS f WHERE f.isleaf
  ) AS t
  JOIN pg_catalog.pg_class AS k ON k.oid = t.relid AND k.relkind <> 'p'
  WHERE g.source_name = split_part(c.source_name, '#', 1) AND c.phase = 'seeding'
) AS e ON true;
