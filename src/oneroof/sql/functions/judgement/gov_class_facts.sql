-- What is known now of every class that some fact set has: its coverage decision, whether it is in the catalog and its registry
-- is there, who answers for it, what excuses it, and whether its source is trusted. A function, since a view would keep the host from altering its tables.
CREATE OR REPLACE FUNCTION oneroof.gov_class_facts() RETURNS TABLE (source_name text, class text, facts jsonb)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
  WITH wanted AS MATERIALIZED (
    SELECT DISTINCT f.source_name, f.class FROM oneroof.governance_fact_set AS f
  ), active AS MATERIALIZED (
    SELECT o.level, o.subject, o.responsibility FROM oneroof.v_active_ownership AS o WHERE o.level <> 'object'
  ), near AS (
    SELECT w.source_name, w.class, a.responsibility, CASE a.level WHEN 'collection' THEN 1 ELSE 2 END AS distance
    FROM wanted AS w JOIN active AS a ON a.level IN ('collection', 'class') AND a.subject = w.class
    UNION ALL
    SELECT w.source_name, w.class, a.responsibility, CASE a.subject WHEN '*' THEN 4 ELSE 3 END
    FROM active AS a JOIN wanted AS w ON a.subject IN (w.source_name, '*') WHERE a.level = 'scope'
  ), owner AS MATERIALIZED (
    SELECT n.source_name, n.class, jsonb_object_agg(n.responsibility, n.owners) || jsonb_build_object('conflict', bool_or(n.owners > 1)) AS facts
    FROM (SELECT DISTINCT ON (source_name, class, responsibility) source_name, class, responsibility, count(*) AS owners
          FROM near GROUP BY source_name, class, responsibility, distance ORDER BY source_name, class, responsibility, distance) AS n
    GROUP BY n.source_name, n.class
  ), someone AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM oneroof.v_active_ownership) AS is_known
  ), birth AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM oneroof.governance_source AS b WHERE b.births) AS is_known
  ), stranger AS MATERIALIZED (
    SELECT o.level, o.subject, count(*) AS many
    FROM oneroof.governance_object_ownership AS o
    WHERE o.level <> 'object' AND o.valid_from <= (SELECT oneroof.gov_now()) AND (o.valid_to IS NULL OR o.valid_to > (SELECT oneroof.gov_now()))
      AND NOT EXISTS (SELECT FROM oneroof.governance_person AS p WHERE p.person_code = o.owner_ref AND p.removed_at IS NULL)
      AND NOT EXISTS (SELECT FROM oneroof.governance_office AS f WHERE f.office_code = o.owner_ref)
    GROUP BY o.level, o.subject
  ), collection AS MATERIALIZED (
    SELECT DISTINCT ON (c.collection_name::text COLLATE "default") c.collection_name::text COLLATE "default" AS class,
           jsonb_build_object('registered', true, 'coverage_status', c.coverage_status::text, 'coverage_scope_status', c.coverage_scope_status::text,
                              'coverage_exemption_reason', c.coverage_exemption_reason::text,
                              'coverage_review_owner', c.coverage_review_owner::text) AS facts
    FROM host.collection_registry AS c WHERE c.collection_name IS NOT NULL ORDER BY c.collection_name::text COLLATE "default", c.id
  ), catalog AS MATERIALIZED (
    SELECT k.class, k.is_missing FROM oneroof.gov_catalog_classes() AS k
  ), excuse AS MATERIALIZED (
    SELECT e.level, e.subject, e.state FROM oneroof.v_exception_effective AS e WHERE e.level <> 'object' AND e.state <> 'revoked'
  )
  SELECT w.source_name, w.class, jsonb_build_object(
    'collection', coalesce(c.facts, jsonb_build_object('registered', false, 'coverage_status', NULL, 'coverage_scope_status', NULL,
                                                       'coverage_exemption_reason', NULL, 'coverage_review_owner', NULL)),
    'inventory', jsonb_build_object('cataloged', k.class IS NOT NULL, 'missing', coalesce(k.is_missing, false)),
    'owners', '{"policy": 0, "health": 0, "execution": 0, "render": 0, "approval": 0, "audit": 0, "conflict": false}'::jsonb
              || coalesce(o.facts, '{}'::jsonb) || jsonb_build_object('known', someone.is_known, 'unknown', coalesce(u.many, 0)),
    'exception', coalesce(x.state, 'none'),
    -- A birth has the candidate of its object, whichever source had it before: an object of another source is not born.
    'state', jsonb_build_object('trusted', t.trusted_at IS NOT NULL, 'born', coalesce(t.births, true) OR NOT birth.is_known))
  FROM wanted AS w CROSS JOIN someone CROSS JOIN birth
  LEFT JOIN oneroof.governance_source AS t ON t.source_name = w.source_name
  LEFT JOIN collection AS c ON c.class = w.class
  LEFT JOIN catalog AS k ON k.class = w.class
  LEFT JOIN owner AS o ON o.source_name = w.source_name AND o.class = w.class
  LEFT JOIN LATERAL (SELECT sum(s.many)::bigint AS many FROM stranger AS s
                     WHERE s.level IN ('collection', 'class') AND s.subject = w.class
                        OR s.level = 'scope' AND s.subject IN (w.source_name, '*')) AS u ON true
  LEFT JOIN LATERAL (SELECT e.state FROM excuse AS e
                     WHERE e.level IN ('collection', 'class') AND e.subject = w.class
                        OR e.level = 'scope' AND e.subject IN (w.source_name, '*')
                     ORDER BY array_position(ARRAY['collection', 'class', 'scope'], e.level), e.subject = '*' LIMIT 1) AS x ON true
$$;
