-- fact_sets --
-- What the rules do with some fact sets behind a place, and the place of the last of them.
WITH piece AS MATERIALIZED (
  SELECT s.facts_hash, s.source_name, s.facts FROM oneroof.gov_known_sets(%(hash)s::bigint, %(source)s::text, %(most)s::bigint) AS s
), last AS (
  SELECT p.facts_hash, p.source_name FROM piece AS p ORDER BY p.facts_hash DESC, p.source_name DESC LIMIT 1
)
SELECT (SELECT count(*) FROM piece), jsonb_build_object('hash', l.facts_hash, 'source', l.source_name),
       (SELECT jsonb_agg(c) FROM oneroof.gov_rules_count(ARRAY(SELECT p.facts FROM piece AS p), %(version)s::text) AS c)
FROM (VALUES (true)) AS always (is_true) LEFT JOIN last AS l ON always.is_true

-- objects --
-- The same of single objects of which something of their own is known.
WITH piece AS MATERIALIZED (
  SELECT o.candidate_key, o.facts FROM oneroof.gov_known_objects(%(key)s::text, %(most)s::bigint) AS o
)
SELECT (SELECT count(*) FROM piece), jsonb_build_object('key', (SELECT max(p.candidate_key) FROM piece AS p)),
       (SELECT jsonb_agg(c) FROM oneroof.gov_rules_count(ARRAY(SELECT p.facts FROM piece AS p), %(version)s::text) AS c)
