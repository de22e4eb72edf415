-- Issues number first … last (doc 41 §41.2), with the host's collection_onboarding_gap in its proportion (doc 31
-- §3). The first ones are the birth-orphan scanner's, one for each member that was never born (doc 31 §7).
-- At most one of a coalesce_key is open.
INSERT INTO system_issues (id, issue_type, bucket, severity, status, title, entity_type, entity_code, owner_ref,
                           coalesce_key, occurrence_count, reopen_count, parent_issue_id, business_logic_hash,
                           violation_hash, first_seen_at, last_seen_at, resolved_at, created_at, updated_at)
SELECT g.n, i.issue_type, i.bucket, (ARRAY['low', 'medium', 'medium', 'high', 'critical'])[1 + mod(g.n * 7, 5)],
       i.status, replace(i.issue_type, '_', ' ') || ' in ' || i.entity_type, i.entity_type, i.entity_code,
       (ARRAY['GOV-SIV', 'GOV-DOT', NULL])[1 + mod(g.n, 3)],
       i.issue_type || ':' || i.entity_type || ':' || i.entity_code,
       1 + mod(g.n * 31, 17), mod(g.n * 13, 5) / 4,
       CASE WHEN mod(g.n, 50) = 49 THEN g.n - 1 END,
       i.hash, md5(i.hash), i.seen, i.seen + interval '2 days',
       CASE WHEN i.status = 'resolved' THEN i.seen + interval '3 days' END, i.seen, i.seen + interval '3 days'
FROM pg_temp.estate_plan AS p
CROSS JOIN generate_series(%(first)s::bigint, %(last)s::bigint) AS g (n)
LEFT JOIN pg_temp.estate_unborn AS u ON u.n = g.n
CROSS JOIN LATERAL (
    SELECT g.n * p.gaps / p.issues AS gap,
           CASE WHEN g.n * p.gaps / p.issues <> (g.n - 1) * p.gaps / p.issues THEN 1
                WHEN u.n IS NOT NULL THEN 2 ELSE 3 + mod(g.n, 4) END AS kind
) AS k
JOIN pg_temp.estate_collection AS c
  ON c.n = 1 + mod(CASE WHEN k.kind = 1 THEN k.gap ELSE g.n * 89 + p.shift END, 168)
CROSS JOIN LATERAL (
    SELECT (ARRAY['collection_onboarding_gap', 'birth_orphan', 'count_mismatch', 'missing_relation', 'silent_job',
                  'schema_drift'])[k.kind] AS issue_type,
           (ARRAY['thiếu_quan_hệ', 'thiếu_quan_hệ', 'sai_lệch_dữ_liệu', 'thiếu_quan_hệ', 'silent_fail',
                  'sai_lệch_dữ_liệu'])[k.kind] AS bucket,
           CASE WHEN k.kind = 2 OR (k.kind = 1 AND k.gap <= 168) OR (k.kind > 2 AND mod(g.n * 41, 11) = 0)
                THEN 'open' ELSE 'resolved' END AS status,
           CASE k.kind WHEN 1 THEN 'collection' WHEN 2 THEN u.collection_name ELSE c.collection_name END AS entity_type,
           CASE k.kind WHEN 1 THEN c.code WHEN 2 THEN u.entity_code ELSE g.n::text END AS entity_code,
           md5('issue ' || p.seed || ' ' || g.n) AS hash,
           timestamptz '2026-02-17 00:00:00+00' + interval '1 millisecond' * (
               (g.n - 1) * 8500000000 / greatest(p.issues - 1, 1)) AS seen
) AS i
