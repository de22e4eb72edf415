-- Retire the first born object at or after each point, and say so in the changelog.
WITH retired AS (
    UPDATE birth_registry SET status = 'retired'
    WHERE id IN (
        SELECT b.id
        FROM (SELECT min(id) AS low, max(id) AS high FROM birth_registry) AS span
        CROSS JOIN unnest(%(points)s::float8[]) AS point
        CROSS JOIN LATERAL (
            SELECT id FROM birth_registry
            WHERE id >= (span.low + floor(point * (span.high - span.low + 1)))::integer AND status = 'born'
            ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
        ) AS b
    )
    RETURNING collection_name, entity_code
)
INSERT INTO registry_changelog (entity_type, entity_code, action, "timestamp")
SELECT collection_name, entity_code, 'retire', clock_timestamp() AT TIME ZONE 'UTC' FROM retired
