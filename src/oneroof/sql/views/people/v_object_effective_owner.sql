-- The owners of an object, by responsibility: the nearest of object, collection, class, source and everywhere that has
-- an owner; two of them there are a conflict, and both are shown (doc 31 §6). A row for each owner, none
-- without one. Ask for candidate keys: each is a few index lookups, and there are millions.
CREATE VIEW oneroof.v_object_effective_owner AS
SELECT c.candidate_key, c.source_name, n.responsibility, n.owner_ref, n.level, n.is_conflict
FROM oneroof.v_candidate_class AS c
CROSS JOIN LATERAL (
  SELECT o.responsibility, o.owner_ref, o.level, near.distance,
         min(near.distance) OVER (PARTITION BY o.responsibility) AS nearest,
         count(*) OVER (PARTITION BY o.responsibility, near.distance) > 1 AS is_conflict
  FROM (VALUES (0, 'object', c.candidate_key), (1, 'collection', c.class), (2, 'class', c.class),
               (3, 'scope', c.source_name), (4, 'scope', '*')) AS near (distance, level, subject)
  JOIN oneroof.v_active_ownership AS o ON o.level = near.level AND o.subject = near.subject
) AS n
WHERE n.distance = n.nearest;
