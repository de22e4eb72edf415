-- objects --
-- How many objects a source has, by its books; those that are gone too.
SELECT coalesce(sum(l.members), 0)::bigint FROM oneroof.governance_ledger AS l WHERE l.source_name = %(name)s

-- is_left --
SELECT NOT EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = %(name)s)
   AND EXISTS (SELECT FROM oneroof.governance_ledger AS l WHERE l.source_name = %(name)s HAVING sum(l.members) > 0)
   AND NOT EXISTS (SELECT FROM oneroof.governance_source_removed AS r WHERE r.source_name = %(name)s AND r.retired_at IS NOT NULL)

-- unburied --
SELECT r.source_name FROM oneroof.governance_source_removed AS r
WHERE r.retired_at IS NULL AND NOT r.is_kept AND NOT EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = r.source_name)
ORDER BY r.removed_at LIMIT 1

-- bury --
SELECT b.buried, b.is_over FROM oneroof.gov_source_retire_objects(%(name)s::text, %(most)s::bigint) AS b
