-- Delete the first birth at or after each point.
DELETE FROM birth_registry
WHERE id IN (
    SELECT b.id
    FROM (SELECT min(id) AS low, max(id) AS high FROM birth_registry) AS span
    CROSS JOIN unnest(%(points)s::float8[]) AS point
    CROSS JOIN LATERAL (
        SELECT id FROM birth_registry WHERE id >= (span.low + floor(point * (span.high - span.low + 1)))::integer
        ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS b
)
