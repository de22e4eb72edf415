-- read --
-- 24:00 is a time to PostgreSQL and not to Python.
SELECT worker_name, paused_at, paused_by::text, batch_size, rows_per_second, off_peak_from,
       CASE WHEN off_peak_to = time '24:00' THEN time '00:00' ELSE off_peak_to END AS off_peak_to,
       extract(epoch FROM sweep_interval)::float8 AS sweep_interval, extract(epoch FROM lease_ttl)::float8 AS lease_ttl,
       attempts, extract(epoch FROM backoff_first)::float8 AS backoff_first, extract(epoch FROM backoff_most)::float8 AS backoff_most,
       dlq_limit, extract(epoch FROM lag_limit)::float8 AS lag_limit, lock_wait_limit, replication_lag_limit,
       error_limit::float8 AS error_limit,
       extract(epoch FROM coalesce_window)::float8 AS coalesce_window, digest_after, extract(epoch FROM digest_interval)::float8 AS digest_interval,
       extract(epoch FROM heartbeat_interval)::float8 AS heartbeat_interval, storm_share::float8 AS storm_share, storm_changes
FROM oneroof.governance_worker_policy ORDER BY worker_name

-- set --
SELECT oneroof.gov_policy_set(%(worker)s::text, %(values)s::jsonb)

-- pause --
SELECT oneroof.gov_worker_pause(%(worker)s::text, %(paused)s::boolean)
