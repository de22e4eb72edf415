-- The members of the class registries (doc 31 §2), interleaved; the last twentieth of each, at least two, was
-- never born: those are birth-orphans (doc 31 §7). At most a fifth of all births are members.

CREATE TEMP TABLE estate_member ON COMMIT DROP AS
WITH member (collection_name, entity_code) AS (
    SELECT 'dot_tools', dot_code FROM dot_tools
    UNION ALL SELECT 'information_unit', unit_id FROM information_unit
    UNION ALL SELECT 'pivot_definitions', code FROM pivot_definitions
    UNION ALL SELECT 'measurement_registry', measurement_id FROM measurement_registry
    UNION ALL SELECT 'derived_objects_registry', code FROM derived_objects_registry
    UNION ALL SELECT 'binding_registry', code FROM binding_registry
    UNION ALL SELECT 'table_registry', code FROM table_registry
    UNION ALL SELECT 'universal_rule_registry', code FROM universal_rule_registry
    UNION ALL SELECT 'normative_registry', code FROM normative_registry
    UNION ALL SELECT 'law_jurisdiction', code FROM law_jurisdiction
), placed AS (
    SELECT collection_name, entity_code, count(*) OVER (PARTITION BY collection_name) AS size,
           row_number() OVER (PARTITION BY collection_name ORDER BY entity_code COLLATE "C") AS place
    FROM member
)
SELECT collection_name, entity_code, size - place >= greatest(2, size / 20) AS is_born,
       row_number() OVER (PARTITION BY size - place >= greatest(2, size / 20)
                          ORDER BY place * 1000000 / size, collection_name COLLATE "C") AS n
FROM placed;

CREATE TEMP TABLE estate_unborn ON COMMIT DROP AS
SELECT n, collection_name, entity_code FROM pg_temp.estate_member WHERE NOT is_born;

UPDATE pg_temp.estate_plan
SET members = least(rows / 5, (SELECT count(*) FROM pg_temp.estate_member WHERE is_born));

INSERT INTO birth_registry (id, collection_name, entity_code, species_code, governance_role, status, certified,
                            born_at, actor_ref, source_system, created_at)
SELECT m.n, m.collection_name, m.entity_code, c.species_code,
       CASE mod(m.n, 20) WHEN 0 THEN 'root' WHEN 1 THEN 'leaf' ELSE 'container' END,
       CASE mod(m.n, 40) WHEN 7 THEN 'retired' WHEN 17 THEN 'draft' ELSE 'born' END,
       m.n * p.certified / p.rows <> (m.n - 1) * p.certified / p.rows,
       b.born_at, 'host', 'birth_gate', b.born_at
FROM pg_temp.estate_plan AS p
JOIN pg_temp.estate_member AS m ON m.is_born AND m.n <= p.members
JOIN pg_temp.estate_collection AS c ON c.collection_name = m.collection_name
CROSS JOIN LATERAL (
    SELECT timestamptz '2026-02-17 00:00:00+00' + interval '1 millisecond' * (
               (CASE WHEN mod((m.n - 1) / 64, 8) = 3 AND m.n < p.rows THEN (m.n - 1) / 64 * 64 ELSE m.n - 1 END)
               * 8985600000 / greatest(p.rows - 1, 1)) AS born_at
) AS b
ORDER BY m.n;

ANALYZE pg_temp.estate_plan;
ANALYZE pg_temp.estate_unborn;
