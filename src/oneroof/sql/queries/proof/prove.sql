-- identity --
-- Which database, on which timeline, at which moment. A standby cannot name its WAL file.
SELECT (SELECT system_identifier::text FROM pg_control_system()),
       CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id::bigint FROM pg_control_checkpoint())
            ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END,
       current_database()::text, pg_current_snapshot()::text, pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint, oneroof.gov_now(), oneroof.gov_ruleset_active()

-- frontiers --
-- How far each source was followed: by the intake, or before it by the sweep; but for what is of another cluster or timeline.
SELECT DISTINCT ON (c.source_name) c.source_name, c.frontier::text::bigint, coalesce(c.metadata -> 'leaves', '[]'::jsonb)
FROM oneroof.gov_worker_cursor AS c
WHERE c.worker_name IN ('gov_handoff_intake', 'gov_backfill_sweep') AND c.frontier IS NOT NULL
  AND split_part(c.cluster_identity, '/', 1) = %(system)s
  AND ('x' || split_part(c.cluster_identity, '/', 2))::bit(32)::bigint = %(timeline)s
ORDER BY c.source_name, c.worker_name DESC

-- ledger --
SELECT l.source_name, l.group_key, l.grain, l.verdict, l.undecided_reason, sum(l.members)::bigint
FROM oneroof.governance_ledger AS l GROUP BY 1, 2, 3, 4, 5 HAVING sum(l.members) <> 0

-- latest --
SELECT c.sha256 FROM oneroof.governance_certificate AS c ORDER BY c.sequence DESC LIMIT 1
