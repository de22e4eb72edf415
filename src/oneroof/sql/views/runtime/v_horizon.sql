-- The horizon below which every transaction of the cluster is finished, and who keeps it where it is:
-- another session or a prepared transaction. The seconds are NULL where this login may not see them.
CREATE VIEW oneroof.v_horizon AS
SELECT
  pg_snapshot_xmin(s.snapshot)::text::bigint AS horizon,
  pg_snapshot_xmax(s.snapshot)::text::bigint - pg_snapshot_xmin(s.snapshot)::text::bigint AS horizon_xids,
  p.who AS pinned_by,
  extract(epoch FROM oneroof.gov_now() - p.since)::float8 AS pinned_seconds
FROM (SELECT pg_current_snapshot() AS snapshot) AS s
LEFT JOIN LATERAL (
  SELECT open.who, open.since
  FROM (
    SELECT a.backend_xid AS xid, a.xact_start AS since,
           format('pid %s (%s) in database %s', a.pid, coalesce(nullif(a.application_name, ''), a.backend_type, 'no name'), a.datname) AS who
    FROM pg_catalog.pg_stat_activity AS a WHERE a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
    UNION ALL
    SELECT x.transaction, x.prepared, format('prepared transaction %L in database %s', x.gid, x.database)
    FROM pg_catalog.pg_prepared_xacts AS x
  ) AS open
  -- The horizon is the oldest xid still running, so the transaction with that very xid keeps it there, and no other. Among
  -- the running a 32-bit xid is unique.
  WHERE open.xid = pg_snapshot_xmin(s.snapshot)::xid
  LIMIT 1
) AS p ON true;
