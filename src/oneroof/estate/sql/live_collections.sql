-- The collections that births can be added to, with the species that follows each, the largest shares first.
SELECT c.collection_name, b.species_code
FROM collection_registry AS c
CROSS JOIN LATERAL (
    SELECT species_code FROM birth_registry WHERE birth_registry.collection_name = c.collection_name LIMIT 1
) AS b
WHERE to_regclass('public.' || quote_ident(c.collection_name)) IS NULL
ORDER BY c.id
