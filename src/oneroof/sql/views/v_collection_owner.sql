-- Who answers for each collection of an inventory, by responsibility: the nearest of collection, class, source and
-- everywhere that has anybody at all. Small, to be joined: a row for every known class, also where nobody answers
-- (no owners, no level), and one for the class '*', which is any class that is not known.
CREATE VIEW public.v_collection_owner AS
SELECT
  p.source_name, p.class, r.responsibility,
  coalesce(n.owners, '{}') AS owners, n.level, coalesce(cardinality(n.owners) > 1, false) AS is_conflict
FROM (
  SELECT s.source_name, k.class
  FROM public.governance_source AS s
  CROSS JOIN (SELECT k.class FROM public.gov_known_classes() AS k (class) UNION SELECT '*') AS k
  WHERE s.source_kind = 'inventory' AND s.class_column IS NOT NULL
  UNION ALL
  SELECT s.source_name, s.source_name FROM public.governance_source AS s
  WHERE s.source_kind = 'inventory' AND s.class_column IS NULL
) AS p
CROSS JOIN unnest(ARRAY['policy', 'health', 'execution', 'render', 'approval', 'audit']) AS r (responsibility)
LEFT JOIN LATERAL (
  SELECT array_agg(o.owner_ref ORDER BY o.owner_ref COLLATE "C") AS owners, o.level
  FROM (VALUES (1, 'collection', p.class), (2, 'class', p.class), (3, 'scope', p.source_name), (4, 'scope', '*'))
    AS near (distance, level, subject)
  JOIN public.v_active_ownership AS o ON o.level = near.level AND o.subject = near.subject
  WHERE o.responsibility = r.responsibility
  GROUP BY near.distance, o.level
  ORDER BY near.distance
  LIMIT 1
) AS n ON true;
