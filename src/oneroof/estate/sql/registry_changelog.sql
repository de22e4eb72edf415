-- Changes number first … last (doc 32 §3): of born objects, told by (entity_type, entity_code) = (collection
-- name, entity code), and of collections. An object that is retired or superseded has a row that says so.
-- One in some thousands names an object that was never born under that code.
INSERT INTO registry_changelog (id, entity_type, entity_code, action, "timestamp", alert_level, resolved,
                                source_kind, migration_state, actor_ref, source_system, details)
SELECT g.n, o.entity_type, o.entity_code, a.action,
       timestamp '2026-02-17 00:00:00' + interval '1 millisecond' * (
           (g.n - 1) * 8985600000 / greatest(p.changes - 1, 1)),
       CASE mod(g.n * 53, 101) WHEN 1 THEN 'critical' WHEN 2 THEN 'warn' WHEN 3 THEN 'warn' WHEN 4 THEN 'info' END,
       mod(g.n, 3) = 0,
       CASE WHEN a.action = 'source_change'
            THEN (ARRAY['manual', 'import', 'stream'])[1 + mod(g.n, 3)] END,
       CASE WHEN a.action = 'source_change'
            THEN (ARRAY['planned', 'migrating', 'migrated'])[1 + mod(g.n / 3, 3)] END,
       CASE WHEN mod(g.n, 11) = 0 THEN 'operator' ELSE 'host' END, 'host', '{}'
FROM pg_temp.estate_plan AS p
CROSS JOIN generate_series(%(first)s::bigint, %(last)s::bigint) AS g (n)
CROSS JOIN LATERAL (
    SELECT 1 + mod(g.n * 611953 + p.shift, p.rows - p.members) AS k, mod(g.n * 67, 127) AS d
) AS pick
JOIN pg_temp.estate_collection AS c
  ON c.birth_rank = width_bucket(mod(pick.k * 618034 + p.shift, 1000003), p.bounds)
CROSS JOIN LATERAL (
    SELECT CASE WHEN pick.d < 6 THEN 'collection' ELSE c.collection_name END AS entity_type,
           CASE WHEN pick.d < 6 THEN c.code ELSE c.prefix || pick.k END AS entity_code
) AS o
CROSS JOIN LATERAL (
    SELECT CASE WHEN pick.d < 6
                THEN (ARRAY['update', 'policy_change', 'owner_change', 'source_change', 'count_change', 'create']
                     )[1 + pick.d]
                ELSE CASE width_bucket(mod(pick.k * 761 + p.shift, 2003), ARRAY[0, 1953, 1975, 1987]::bigint[])
                     WHEN 2 THEN 'retire' WHEN 3 THEN 'supersede'
                     ELSE (ARRAY['create', 'update', 'certify', 'owner_change', 'policy_change', 'source_change'])[
                          width_bucket(pick.d, ARRAY[6, 60, 115, 118, 121, 124]::bigint[])] END
           END AS action
) AS a
