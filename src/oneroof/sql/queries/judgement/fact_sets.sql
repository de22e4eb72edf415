-- learn --
INSERT INTO oneroof.governance_fact_set (source_name, facts_hash, group_key, class, grain, row_facts)
SELECT %(scope)s, f.facts_hash, f.group_key, left(coalesce(f.class, ''), 500), f.grain, f.row_facts FROM ({facts}) AS f
ON CONFLICT DO NOTHING

-- unknown --
-- Rows of dirty candidates whose facts are unknown.
SELECT c.source_key FROM oneroof.governance_candidate_state AS c
WHERE c.source_name = %(source)s AND c.dirty AND (c.input_quality_state = 'pending') = true
  AND NOT EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.source_name = c.source_name AND f.facts_hash = c.facts_hash)
  -- Of a row that is known not to be there nothing can be learned.
  AND NOT EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key
                  AND (o.facts @> '{"state": {"vanished": true}}' OR o.facts @> '{"state": {"gone": true}}'))
LIMIT %(most)s

-- vanish --
SELECT oneroof.gov_candidates_vanish(%(source)s::text, %(keys)s::text[])

-- made --
-- Fact sets behind a hash: whether their facts still are those that make it.
SELECT max(p.facts_hash), count(*),
       array_agg(p.facts_hash) FILTER (WHERE (p.facts_hash, p.group_key, p.grain, p.class)
                                       IS DISTINCT FROM (p.made_hash, p.made_group, p.made_grain, left(coalesce(p.made_class, ''), 500)))
FROM (
  SELECT f.facts_hash, f.group_key, f.grain, f.class, {hash} AS made_hash, {group} AS made_group, {grain} AS made_grain, {kind} AS made_class
  FROM oneroof.governance_fact_set AS f CROSS JOIN LATERAL (SELECT {columns}) AS s
  WHERE f.source_name = %(source)s AND f.facts_hash > %(after)s
    AND (%(since)s::text IS NULL OR age(f.xmin) <= (SELECT age(%(since)s::text::xid)))
  ORDER BY f.facts_hash LIMIT %(most)s
) AS p
