-- Who has seen the events number first … last (doc 41 §41.2): all but the latest are read.
INSERT INTO event_read (event_id, actor_ref, read_at, read_status_source)
SELECT CASE WHEN g.n = 6800 THEN '8c04f5f7' || right(h.hash, 24) ELSE h.hash END::uuid,
       (ARRAY['GOV-SIV', 'GOV-DOT', 'operator'])[1 + mod(g.n, 3)],
       timestamptz '2026-02-17 00:01:00+00' + interval '1 millisecond' * (
           (g.n - 1) * 8985600000 / greatest(p.events - 1, 1)),
       CASE WHEN mod(g.n, 3) = 2 THEN 'console' ELSE 'digest' END
FROM pg_temp.estate_plan AS p
CROSS JOIN generate_series(%(first)s::bigint, %(last)s::bigint) AS g (n)
CROSS JOIN LATERAL (SELECT md5('event ' || p.seed || ' ' || g.n) AS hash) AS h
