-- One birth per point; the cube of a point favours the first collections.
WITH born AS MATERIALIZED (
    SELECT nextval(pg_get_serial_sequence('birth_registry', 'id'))::integer AS id, point,
           1 + floor(power(point, 3) * cardinality(%(collections)s::text[]))::integer AS place,
           clock_timestamp() AS at
    FROM unnest(%(points)s::float8[]) AS point
)
INSERT INTO birth_registry (id, collection_name, entity_code, species_code, governance_role, born_at, created_at)
SELECT id, (%(collections)s::text[])[place], upper(left((%(collections)s::text[])[place], 3)) || '-L' || id,
       (%(species)s::text[])[place],
       CASE WHEN mod(id, 40) = 0 THEN 'container' WHEN mod(id, 200) = 1 THEN 'root' ELSE 'leaf' END, at, at
FROM born
