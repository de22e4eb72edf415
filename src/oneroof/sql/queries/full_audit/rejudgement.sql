-- doubt --
SELECT oneroof.gov_fact_sets_forget(%(source)s::text, %(wrong)s::bigint[]),
       oneroof.gov_fact_sets_doubt(%(source)s::text, %(after)s::bigint, %(most)s::bigint, %(since)s::text)

-- doubt_objects --
SELECT oneroof.gov_objects_doubt(%(source)s::text, %(after)s::text, %(most)s::bigint, %(since)s::text)

-- doubted --
UPDATE oneroof.gov_worker_cursor SET metadata = metadata || %(known)s::jsonb WHERE cursor_id = %(cursor)s
