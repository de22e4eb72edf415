-- The owners of each collection of an inventory, by responsibility: the nearest of collection, class, source and
-- everywhere that has an owner. Small, to be joined: a row for every known class, also without an owner
-- (no owners, no level), and one for the class '*', which is any class that is not known.
CREATE VIEW oneroof.v_collection_owner AS
WITH place AS (
  SELECT s.source_name, k.class
  FROM oneroof.governance_source AS s
  CROSS JOIN (SELECT k.class FROM oneroof.gov_known_classes() AS k (class) UNION SELECT '*') AS k
  WHERE s.source_kind = 'inventory' AND s.class_column IS NOT NULL
  UNION ALL
  SELECT s.source_name, s.source_name FROM oneroof.governance_source AS s
  WHERE s.source_kind = 'inventory' AND s.class_column IS NULL
), near AS (
  SELECT p.source_name, p.class, n.distance, n.level, n.subject
  FROM place AS p
  CROSS JOIN LATERAL (VALUES (1, 'collection', p.class), (2, 'class', p.class), (3, 'scope', p.source_name), (4, 'scope', '*'))
    AS n (distance, level, subject)
), answering AS (
  SELECT DISTINCT ON (a.source_name, a.class, a.responsibility) a.*
  FROM (SELECT n.source_name, n.class, o.responsibility, n.distance, o.level, array_agg(o.owner_ref ORDER BY o.owner_ref COLLATE "C") AS owners
        FROM near AS n JOIN oneroof.v_active_ownership AS o ON o.level = n.level AND o.subject = n.subject
        GROUP BY n.source_name, n.class, o.responsibility, n.distance, o.level) AS a
  ORDER BY a.source_name, a.class, a.responsibility, a.distance
)
SELECT
  p.source_name, p.class, r.responsibility,
  coalesce(a.owners, '{}') AS owners, a.level, coalesce(cardinality(a.owners) > 1, false) AS is_conflict
FROM place AS p
CROSS JOIN unnest(ARRAY['policy', 'health', 'execution', 'render', 'approval', 'audit']) AS r (responsibility)
LEFT JOIN answering AS a ON a.source_name = p.source_name AND a.class = p.class AND a.responsibility = r.responsibility;
