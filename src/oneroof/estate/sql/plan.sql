-- The plan of one build: small temporary tables that every chunk joins. Text is ordered by COLLATE "C" and
-- all arithmetic is on integers, so that a plan is the same on every server.

CREATE TEMP TABLE estate_plan (
    rows bigint NOT NULL,
    seed bigint NOT NULL,
    shift bigint NOT NULL,
    certified bigint NOT NULL,
    changes bigint NOT NULL,
    events bigint NOT NULL,
    issues bigint NOT NULL,
    gaps bigint NOT NULL,
    members bigint NOT NULL DEFAULT 0,
    bounds bigint[] NOT NULL DEFAULT '{}'
) ON COMMIT DROP;

-- 168 collections with the distribution of doc 31 §3: 158 made of two words, of which 68 have births, then the
-- ten class registries. Births, and so the largest collections, are spread over all eight decisions.
CREATE TEMP TABLE estate_collection ON COMMIT DROP AS
WITH decision (ordinal, status, scope, total, born) AS (
    VALUES (1, 'BIRTH_REQUIRED', 'IN_SCOPE', 64, 40),
           (2, 'BIRTH_DEFERRED_NEEDS_REVIEW', 'USER_EXCLUDED', 31, 10),
           (3, 'BIRTH_EXEMPT_STRUCTURAL_JUNCTION', 'IN_SCOPE', 20, 5),
           (4, 'BIRTH_DEFERRED_NEEDS_REVIEW', 'FUTURE_SCOPE', 17, 6),
           (5, 'BIRTH_EXEMPT_SYSTEM_LOG_OR_AUDIT', 'IN_SCOPE', 12, 3),
           (6, 'BIRTH_DEFERRED_NEEDS_REVIEW', 'ORPHAN_REGISTRY', 7, 2),
           (7, 'BIRTH_EXEMPT_DERIVED_CACHE', 'IN_SCOPE', 4, 1),
           (8, 'BIRTH_DEFERRED_NEEDS_REVIEW', 'IN_SCOPE', 3, 1)
), slot AS (
    SELECT ordinal, status, scope, member, member <= born AS is_born,
           CASE WHEN member <= born THEN (2 * member - 1) * 1000 / born
                ELSE (2 * (member - born) - 1) * 1000 / (total - born) END AS place
    FROM decision CROSS JOIN LATERAL generate_series(1, total) AS member
), numbered AS (
    SELECT row_number() OVER (ORDER BY is_born DESC, place, ordinal)::integer AS n, status, scope, member
    FROM slot
), named AS (
    SELECT n, status, scope, member,
           (ARRAY['customer', 'supplier', 'contract', 'invoice', 'product', 'shipment', 'employee', 'project',
                  'asset', 'policy', 'meeting', 'ticket', 'payment', 'warehouse', 'vehicle', 'campaign',
                  'document', 'training', 'audit', 'licence'])[1 + mod(n - 1, 20)] || '_' ||
           (ARRAY['records', 'items', 'versions', 'notes', 'links', 'events', 'drafts', 'archives']
           )[1 + (n - 1) / 20] AS collection_name,
           CASE WHEN n <= 68 THEN n END AS birth_rank
    FROM numbered
    UNION ALL
    SELECT 158 + place::integer, 'BIRTH_REQUIRED', 'IN_SCOPE', place::integer, name, 68 + place::integer
    FROM unnest(ARRAY['dot_tools', 'information_unit', 'pivot_definitions', 'measurement_registry',
                      'derived_objects_registry', 'binding_registry', 'table_registry',
                      'universal_rule_registry', 'normative_registry', 'law_jurisdiction'])
         WITH ORDINALITY AS class (name, place)
)
SELECT n, collection_name, birth_rank, status, scope,
       'COL-' || lpad(n::text, 3, '0') AS code,
       upper(left(collection_name, 3)) || '-' AS prefix,
       'SPC-' || lpad((1 + mod(birth_rank - 1, 39))::text, 2, '0') AS species_code,
       -- Ownership hints: most known, many absent, a few unknown or of two owners (doc 31 §6, conflicts).
       CASE mod(member, 12)
            WHEN 1 THEN 'GOV-SIV' WHEN 2 THEN 'GOV-DOT' WHEN 4 THEN 'GOV-COUNCIL' WHEN 6 THEN 'GOV-MOUT'
            WHEN 7 THEN 'GOV-SIV' WHEN 9 THEN 'GOV-DOT'
            WHEN 11 THEN CASE WHEN mod(member, 24) = 11 THEN 'GOV-SIV,GOV-DOT' ELSE 'former-team' END
       END AS review_owner
FROM named;

ANALYZE pg_temp.estate_collection;
