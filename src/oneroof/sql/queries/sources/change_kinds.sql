-- listing --
SELECT m.map_code, m.source_name, m.priority, m.on_change, m.predicate::text, m.change_kind, m.dirties, m.dimensions, m.description
FROM oneroof.governance_handoff_map AS m WHERE %(source)s::text IS NULL OR m.source_name = %(source)s ORDER BY m.source_name, m.priority

-- is_source --
SELECT %(source)s = '*' OR EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = %(source)s)

-- answer --
-- Of which type the answer is, of a row of which nothing is known.
SELECT coalesce((SELECT CASE WHEN count(*) = 1 THEN min(jsonb_typeof(a.answer)) END
                 FROM jsonb_path_query('{}', %(predicate)s::jsonpath, '{}', true) AS a (answer)), 'nothing')

-- add --
INSERT INTO oneroof.governance_handoff_map
  (map_code, source_name, priority, on_change, predicate, change_kind, dirties, dimensions, description)
VALUES (%(code)s, %(source)s, %(priority)s, %(on)s, %(predicate)s::jsonpath, %(kind)s, %(dirties)s, %(dimensions)s, %(description)s)
ON CONFLICT (map_code) DO UPDATE
SET source_name = excluded.source_name, priority = excluded.priority, on_change = excluded.on_change, predicate = excluded.predicate,
    change_kind = excluded.change_kind, dirties = excluded.dirties, dimensions = excluded.dimensions, description = excluded.description

-- remove --
DELETE FROM oneroof.governance_handoff_map WHERE map_code = %(code)s
