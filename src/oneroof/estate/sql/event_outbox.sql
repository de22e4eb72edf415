-- Events number first … last (doc 41 §41.2; doc 03: mostly system/alert). Every hundredth is an iu event; the
-- 68th of those has the id where doc 39 §39.2 found the route worker's cursor.
INSERT INTO event_outbox (id, event_domain, event_type, event_stream, delivery_lane, event_severity,
                          event_subject_table, event_subject_ref, canonical_address, actor_ref, source_system,
                          correlation_id, safe_payload, occurred_at, created_at)
SELECT CASE WHEN g.n = 6800 THEN '8c04f5f7' || right(h.hash, 24) ELSE h.hash END::uuid,
       t.event_domain, t.event_type, t.event_stream, t.delivery_lane, t.default_severity,
       s.subject_table, s.subject_ref, s.subject_table || ':' || s.subject_ref, 'host', 'host',
       CASE WHEN mod(g.n, 5) = 0 THEN 'run-' || g.n / 40 END,
       jsonb_build_object('count', mod(g.n, 97), 'source', t.event_stream),
       h.occurred_at, h.occurred_at + interval '1 millisecond' * mod(g.n, 40)
FROM pg_temp.estate_plan AS p
CROSS JOIN generate_series(%(first)s::bigint, %(last)s::bigint) AS g (n)
CROSS JOIN LATERAL (
    SELECT md5('event ' || p.seed || ' ' || g.n) AS hash,
           timestamptz '2026-02-17 00:00:00+00' + interval '1 millisecond' * (
               (g.n - 1) * 8985600000 / greatest(p.events - 1, 1)) AS occurred_at
) AS h
JOIN pg_temp.estate_event_type AS t
  ON t.n = CASE WHEN mod(g.n, 100) = 0 THEN 1 + mod(g.n / 100, 16)
                WHEN mod(g.n, 100) <= 4 THEN 17 + mod(g.n / 100, 13)
                ELSE 0 END
CROSS JOIN LATERAL (
    SELECT CASE t.event_domain WHEN 'iu' THEN 'information_unit' WHEN 'system' THEN 'system_issues'
                ELSE 'document_records' END AS subject_table,
           CASE t.event_domain WHEN 'iu' THEN 'IU-' || lpad((1 + mod(g.n / 100, 219))::text, 4, '0')
                ELSE g.n::text END AS subject_ref
) AS s
