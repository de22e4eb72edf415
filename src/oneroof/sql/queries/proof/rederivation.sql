-- changed --
-- Rows of a range of pages whose candidate was made of other facts, although it is not news and is not waiting to be tried again.
SELECT count(*), (array_agg(r.candidate_key ORDER BY r.candidate_key COLLATE "C"))[1:%(names)s],
       -- By which item, if it was resolved.
       (array_agg((SELECT i.item_id FROM oneroof.governance_retry AS i
                   WHERE i.key_mark = oneroof.gov_key_mark(r.source_key) AND i.source_key = r.source_key AND i.row_xid = r.row_xid
                     AND i.state = 'resolved' AND split_part(i.source_name, '#', 1) = %(source)s LIMIT 1)
                  ORDER BY r.candidate_key COLLATE "C"))[1:%(names)s]
FROM (SELECT {key} AS source_key, {candidate} AS candidate_key, {facts} AS facts_hash, {group} AS group_key, {grain} AS grain, {xid} AS row_xid
      FROM {table} AS s WHERE {where}) AS r
WHERE (SELECT (c.facts_hash, c.group_key, c.grain) IS DISTINCT FROM (r.facts_hash, r.group_key, r.grain)
       FROM oneroof.governance_candidate_state AS c
       WHERE c.candidate_key = r.candidate_key AND c.source_name = %(source)s AND c.source_key = r.source_key)
  AND NOT EXISTS (SELECT FROM oneroof.governance_retry AS i
                  WHERE i.key_mark = oneroof.gov_key_mark(r.source_key) AND i.state IN ('waiting', 'dead')
                    AND split_part(i.source_name, '#', 1) = %(source)s)

-- judged --
-- Fact sets behind a hash, judged again under the active ruleset, all at once whatever the planner expects: those that come out otherwise.
WITH picked AS MATERIALIZED (
  SELECT f.*, oneroof.gov_facts_of(f.source_name, f.class, f.grain, f.row_facts, k.facts, NULL::jsonb) AS facts
  FROM oneroof.governance_fact_set AS f
  LEFT JOIN oneroof.governance_class AS k ON k.source_name = f.source_name AND k.class = f.class
  WHERE f.source_name = %(source)s AND f.facts_hash > %(after)s AND NOT f.is_dirty ORDER BY f.facts_hash LIMIT %(most)s
), given AS MATERIALIZED (
  SELECT array_agg(p.facts_hash ORDER BY p.facts_hash) AS hashes, array_agg(p.facts ORDER BY p.facts_hash) AS facts FROM picked AS p
), evaluated AS MATERIALIZED (
  SELECT g.hashes[e.ordinal] AS facts_hash, e.* FROM given AS g CROSS JOIN LATERAL oneroof.gov_rules_evaluate(g.facts, NULL::text) AS e
)
SELECT max(p.facts_hash), count(*),
       array_agg(p.facts_hash) FILTER (
         WHERE (p.verdict, p.undecided_reason, p.rule_code, p.input_state, p.input_rule, p.finding_types, p.stale_after)
               IS DISTINCT FROM (e.verdict, e.undecided_reason, e.rule_code, e.input_state, e.input_rule, e.finding_types, e.stale_after))
FROM evaluated AS e JOIN picked AS p ON p.facts_hash = e.facts_hash

-- objects --
-- The same of what is known of single objects.
WITH picked AS MATERIALIZED (
  SELECT o.*, oneroof.gov_facts_of(c.source_name, coalesce(f.class, ''::text), coalesce(f.grain, 'governed'::text),
                                  coalesce(f.row_facts, '{}'::jsonb), k.facts, o.facts) AS whole
  FROM oneroof.governance_object AS o
  JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key
  LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = c.source_name AND f.facts_hash = c.facts_hash
  LEFT JOIN oneroof.governance_class AS k ON k.source_name = f.source_name AND k.class = f.class
  WHERE o.candidate_key > %(after)s AND c.source_name = %(source)s AND NOT o.is_dirty
    AND NOT (c.dirty AND o.judged_hash IS DISTINCT FROM c.facts_hash) ORDER BY o.candidate_key LIMIT %(most)s
), given AS MATERIALIZED (
  SELECT array_agg(p.candidate_key ORDER BY p.candidate_key) AS keys, array_agg(p.whole ORDER BY p.candidate_key) AS facts FROM picked AS p
), evaluated AS MATERIALIZED (
  SELECT g.keys[e.ordinal] AS candidate_key, e.* FROM given AS g CROSS JOIN LATERAL oneroof.gov_rules_evaluate(g.facts, NULL::text) AS e
)
SELECT max(p.candidate_key), count(*),
       array_agg(p.candidate_key) FILTER (
         WHERE (p.verdict, p.undecided_reason, p.rule_code, p.input_state, p.input_rule, p.finding_types, p.stale_after)
               IS DISTINCT FROM (e.verdict, e.undecided_reason, e.rule_code, e.input_state, e.input_rule, e.finding_types, e.stale_after))
FROM evaluated AS e JOIN picked AS p ON p.candidate_key = e.candidate_key

-- classes --
-- Classes of which something else is known now than what their members were judged by.
SELECT n.class FROM oneroof.gov_class_facts() AS n
JOIN oneroof.governance_class AS k ON k.source_name = n.source_name AND k.class = n.class
WHERE n.source_name = %(source)s AND n.facts <> k.facts ORDER BY n.class COLLATE "C"

-- members --
-- Some members of these fact sets.
SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c
WHERE c.facts_hash = ANY (%(hashes)s::bigint[]) AND c.source_name = %(source)s LIMIT %(names)s

-- member_count --
SELECT count(*) FROM oneroof.governance_candidate_state AS c
WHERE c.facts_hash = ANY (%(hashes)s::bigint[]) AND c.source_name = %(source)s
