-- Births number first … last (doc 31 §1). A birth's facts are functions of its number within its collection's
-- share, each modulo another prime, so that they are independent of each other. Every 100,000th birth repeats
-- its predecessor's key: a duplicate. Some births share a moment, as those of one transaction do.
INSERT INTO birth_registry (id, collection_name, entity_code, species_code, governance_role, status, certified,
                            born_at, actor_ref, source_system, created_at)
SELECT g.id, c.collection_name,
       CASE mod(n.k, 20011) WHEN 17 THEN c.prefix || n.k || ':a' WHEN 19 THEN c.prefix || n.k || ' '
            ELSE c.prefix || n.k END,
       c.species_code,
       (ARRAY['leaf', 'container', 'root'])[
           width_bucket(mod(n.k * 397 + p.shift, 1009), ARRAY[0, 979, 1004]::bigint[])],
       (ARRAY['born', 'retired', 'superseded', 'draft', 'suspended', 'unknown'])[
           width_bucket(mod(n.k * 761 + p.shift, 2003), ARRAY[0, 1953, 1975, 1987, 1995, 2001]::bigint[])],
       g.id * p.certified / p.rows <> (g.id - 1) * p.certified / p.rows,
       n.born_at,
       (ARRAY['host', 'importer', 'operator'])[
           width_bucket(mod(n.k * 1543 + p.shift, 4001), ARRAY[0, 3600, 3900]::bigint[])],
       (ARRAY['birth_gate', 'legacy_import', 'unknown'])[
           width_bucket(mod(n.k * 1543 + p.shift, 4001), ARRAY[0, 3600, 3990]::bigint[])],
       n.born_at
FROM pg_temp.estate_plan AS p
CROSS JOIN generate_series(%(first)s::bigint, %(last)s::bigint) AS g (id)
CROSS JOIN LATERAL (
    SELECT g.id - p.members - CASE WHEN mod(g.id - p.members, 100000) = 790 THEN 1 ELSE 0 END AS k,
           timestamptz '2026-02-17 00:00:00+00' + interval '1 millisecond' * (
               (CASE WHEN mod((g.id - 1) / 64, 8) = 3 AND g.id < p.rows THEN (g.id - 1) / 64 * 64 ELSE g.id - 1 END)
               * 8985600000 / greatest(p.rows - 1, 1)) AS born_at
) AS n
JOIN pg_temp.estate_collection AS c
  ON c.birth_rank = width_bucket(mod(n.k * 618034 + p.shift, 1000003), p.bounds)
