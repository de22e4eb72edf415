-- by_facts --
-- Whether a candidate, or a group of them, has another verdict than its facts. A dirty one, and one whose facts are being judged
-- anew, may have an older one.
NOT c.dirty AND CASE WHEN f.facts_hash IS NULL THEN true
                     WHEN f.is_dirty OR f.is_spreading THEN false
                     ELSE (c.verdict, c.undecided_reason, c.input_quality_state, c.group_key, c.grain)
                          IS DISTINCT FROM (f.verdict, f.undecided_reason, f.input_state, f.group_key, f.grain) END

-- by_object --
-- The same of one of which something is known that its facts do not say.
NOT c.dirty AND NOT o.is_dirty AND (c.verdict, c.undecided_reason, c.input_quality_state)
                                   IS DISTINCT FROM (o.verdict, o.undecided_reason, o.input_state)

-- longest --
-- For how long the verdicts of a group hold, at most: one aggregate more, and no more groups. What holds for ever holds very long.
, max(CASE WHEN isfinite(c.stale_after) AND isfinite(c.scan_time) THEN c.stale_after - c.scan_time ELSE interval '100000 years' END) AS longest

-- by_time --
-- Whether a group may hold one that holds longer than its facts allow. A month is taken for thirty days, so that it may well hold none.
NOT c.dirty AND NOT f.is_dirty AND NOT f.is_spreading AND c.verdict = f.verdict AND f.stale_after IS NOT NULL
  AND c.longest > f.stale_after

-- holds_longer --
-- Whether a candidate holds longer than what it was judged by allows; earlier is no harm.
NOT c.dirty AND NOT {judged}.is_dirty AND {judged}.stale_after IS NOT NULL
  AND (c.stale_after <= c.scan_time + {judged}.stale_after AND isfinite(c.scan_time)) IS NOT TRUE

-- lasting --
-- Some of the candidates that hold longer than what they were judged by allows, and how many there are.
SELECT c.source_name, count(*), (array_agg(c.candidate_key))[1:%(names)s]
FROM oneroof.governance_candidate_state AS c
LEFT JOIN oneroof.governance_object AS o ON o.candidate_key = c.candidate_key
LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = c.source_name AND f.facts_hash = c.facts_hash
WHERE c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid
  AND CASE WHEN o.candidate_key IS NULL THEN NOT f.is_spreading AND {by_facts} ELSE {by_object} END
GROUP BY 1

-- recount --
-- The candidates of a range of pages by what the ledger counts, for every source, and those whose facts have another verdict.
WITH counted AS MATERIALIZED (
  SELECT c.source_name, c.facts_hash, c.group_key, c.grain, c.verdict, c.undecided_reason, c.input_quality_state, c.dirty,
         count(*) AS members, sum({keys}) AS keys, sum({facts}) AS facts{longest}
  FROM oneroof.governance_candidate_state AS c
  WHERE c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
)
SELECT c.source_name, c.group_key, c.grain, c.verdict, coalesce(c.undecided_reason, ''), sum(c.members)::bigint,
       coalesce(sum(c.members) FILTER (WHERE c.dirty), 0)::bigint, coalesce(sum(c.members) FILTER (WHERE {by_facts}), 0)::bigint,
       sum(c.keys), sum(c.facts), coalesce(bool_or({by_time}), false)
FROM counted AS c
LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = c.source_name AND f.facts_hash = c.facts_hash
GROUP BY 1, 2, 3, 4, 5

-- known --
-- Some of the objects of which something else is known: by source, those that `recount` took for wrong, those that are, and those
-- whose rows are known to be gone.
WITH picked AS MATERIALIZED (
  SELECT o.* FROM oneroof.governance_object AS o WHERE o.candidate_key > %(after)s ORDER BY o.candidate_key LIMIT %(most)s
)
SELECT (SELECT max(p.candidate_key) FROM picked AS p), c.source_name, count(*) FILTER (WHERE {by_facts}), count(*) FILTER (WHERE {by_object}),
       count(*) FILTER (WHERE b.is_buried), sum({keys}) FILTER (WHERE b.is_buried), sum({facts}) FILTER (WHERE b.is_buried),
       coalesce(bool_or({by_time}), false)
FROM picked AS o
LEFT JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key
LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = c.source_name AND f.facts_hash = c.facts_hash
CROSS JOIN LATERAL (SELECT o.facts @> '{{"state": {{"gone": true}}}}' OR o.facts @> '{{"state": {{"vanished": true}}}}' AS is_buried) AS b
GROUP BY 2

-- wrong --
-- Some of the candidates that have another verdict than what they were judged by.
SELECT c.source_name, (array_agg(c.candidate_key))[1:%(names)s]
FROM oneroof.governance_candidate_state AS c
LEFT JOIN oneroof.governance_object AS o ON o.candidate_key = c.candidate_key
LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = c.source_name AND f.facts_hash = c.facts_hash
WHERE c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid AND CASE WHEN o.candidate_key IS NULL THEN {by_facts} ELSE {by_object} END
GROUP BY 1
