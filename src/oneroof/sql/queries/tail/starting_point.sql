-- registered --
SELECT s.added_horizon::text::bigint FROM oneroof.governance_source AS s WHERE s.source_name = %(source)s

-- swept --
SELECT frontier::text::bigint, cluster_identity, metadata -> 'leaves' FROM oneroof.gov_worker_cursor
WHERE worker_name = 'gov_backfill_sweep' AND source_name = %(source)s AND frontier IS NOT NULL
