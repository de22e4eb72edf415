-- One changelog row per point: of the birth at or after that place in the ledger, or of a collection.
INSERT INTO registry_changelog (entity_type, entity_code, action, "timestamp", source_kind, migration_state)
SELECT CASE WHEN k.kind = 0 THEN 'collection' ELSE b.collection_name END,
       CASE WHEN k.kind = 0 THEN (SELECT code FROM collection_registry AS c WHERE c.collection_name = b.collection_name)
            ELSE b.entity_code END,
       CASE k.kind WHEN 1 THEN 'owner_change' WHEN 2 THEN 'policy_change' WHEN 3 THEN 'source_change' ELSE 'update' END,
       clock_timestamp() AT TIME ZONE 'UTC',
       CASE WHEN k.kind = 3 THEN 'stream' END, CASE WHEN k.kind = 3 THEN 'migrating' END
FROM (SELECT min(id) AS low, max(id) AS high FROM birth_registry) AS span
CROSS JOIN unnest(%(points)s::float8[]) AS point
CROSS JOIN LATERAL (
    SELECT collection_name, entity_code FROM birth_registry
    WHERE id >= (span.low + floor(point * (span.high - span.low + 1)))::integer ORDER BY id LIMIT 1
) AS b
CROSS JOIN LATERAL (SELECT mod(floor(point * 1000003)::integer, 8) AS kind) AS k
WHERE span.low IS NOT NULL
