-- identity --
-- Which database, on which timeline, at which moment. A standby cannot name its WAL file.
SELECT (SELECT system_identifier::text FROM pg_control_system()),
       CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id::bigint FROM pg_control_checkpoint())
            ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END,
       current_database()::text, pg_current_snapshot()::text, pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint, oneroof.gov_now(), oneroof.gov_ruleset_active()

-- frontiers --
-- How far each source was followed: by the intake, or before it by the sweep; but for what is of another cluster or timeline.
SELECT DISTINCT ON (c.source_name) c.source_name, c.frontier::text::bigint, coalesce(c.metadata -> 'leaves', '[]'::jsonb)
FROM oneroof.gov_worker_cursor AS c
WHERE c.worker_name IN ('gov_handoff_intake', 'gov_backfill_sweep') AND c.frontier IS NOT NULL
  AND split_part(c.cluster_identity, '/', 1) = %(system)s
  AND ('x' || split_part(c.cluster_identity, '/', 2))::bit(32)::bigint = %(timeline)s
ORDER BY c.source_name, c.worker_name DESC

-- ledger --
SELECT l.source_name, l.group_key, l.grain, l.verdict, l.undecided_reason, sum(l.members)::bigint
FROM oneroof.governance_ledger AS l GROUP BY 1, 2, 3, 4, 5 HAVING sum(l.members) <> 0

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

-- represented --
-- Some of the rows that another stands for: the last key, and the fingerprint of their notes, but for those that nobody stands for.
SELECT max(d.source_key), count(*) FILTER (WHERE d.is_held), coalesce(sum(d.h) FILTER (WHERE d.is_held), 0),
       array_agg(d.source_key) FILTER (WHERE d.is_held)
FROM (SELECT d.source_key, {hash} AS h, {is_held} AS is_held FROM oneroof.governance_duplicate AS d
      WHERE d.source_name = %(source)s AND d.source_key > %(after)s ORDER BY d.source_key LIMIT %(most)s) AS d

-- is_held --
EXISTS (SELECT FROM oneroof.governance_candidate_state AS c WHERE c.candidate_key = d.candidate_key)

-- buckets --
SELECT {bucket}::int, count(*), sum(e.h) FROM ({hashes}) AS e GROUP BY 1

-- living --
-- The candidates of a source in a range of pages, but for those whose rows are known to be gone.
SELECT {hash} AS h FROM oneroof.governance_candidate_state AS c
WHERE c.source_name = %(source)s AND c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid
  AND NOT EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key
                  AND (o.facts @> '{{"state": {{"gone": true}}}}' OR o.facts @> '{{"state": {{"vanished": true}}}}'))

-- changes --
-- Rows of a range of pages whose candidates have other facts. Looked up row by row, by the index.
SELECT count(*)
FROM (SELECT {candidate} AS candidate_key, {key} AS source_key, {facts} AS facts_hash FROM {table} AS s WHERE {where}) AS r
WHERE (SELECT c.facts_hash <> r.facts_hash FROM oneroof.governance_candidate_state AS c
       WHERE c.candidate_key = r.candidate_key AND c.source_name = %(source)s AND c.source_key = r.source_key)

-- rows_alone --
-- Rows of a range of pages, in some buckets, that have no candidate of their own, by what accounts for them. Looked up row by
-- row, by indexes.
WITH row AS MATERIALIZED (
  SELECT {key} AS source_key, {candidate} AS candidate_key, {hash} AS h, {beyond} AS is_beyond, {xid} AS row_xid FROM {table} AS s WHERE {where}
), held AS MATERIALIZED (
  SELECT w.*, (SELECT (c.source_name, c.source_key) = (%(source)s, w.source_key)
               FROM oneroof.governance_candidate_state AS c WHERE c.candidate_key = w.candidate_key) AS is_mine
  FROM row AS w
), told AS MATERIALIZED (
  SELECT h.candidate_key, h.h, i.item_id,
         CASE WHEN i.state IN ('waiting', 'dead') THEN i.state WHEN h.is_mine = false THEN 'duplicate' WHEN h.is_beyond THEN 'awaiting'
              WHEN i.state = 'resolved' THEN 'resolved' ELSE 'omitted' END AS kind
  FROM held AS h
  -- An item speaks of one version; of one that is not yet due an older one does.
  LEFT JOIN LATERAL (
    SELECT t.item_id, t.state FROM oneroof.governance_retry AS t
    WHERE t.key_mark = oneroof.gov_key_mark(h.source_key) AND t.source_key = h.source_key AND (t.row_xid = h.row_xid OR h.is_beyond)
      AND t.state <> 'done' AND split_part(t.source_name, '#', 1) = %(source)s
    ORDER BY t.state = 'resolved', t.row_xid DESC LIMIT 1) AS i ON true
  WHERE h.is_mine IS NOT TRUE
)
SELECT r.kind, {bucket}::int, count(*), sum(r.h), (array_agg(left(r.candidate_key, 500) ORDER BY r.candidate_key COLLATE "C"))[1:%(names)s],
       (array_agg(r.item_id ORDER BY r.candidate_key COLLATE "C"))[1:%(names)s]
FROM told AS r GROUP BY 1, 2

-- notes --
-- Notes in some buckets that another stands for a row.
SELECT d.source_key FROM oneroof.governance_duplicate AS d
WHERE d.source_name = %(source)s AND d.source_key > %(after)s AND {bucket} = ANY (%(buckets)s::bigint[]) ORDER BY d.source_key LIMIT %(most)s

-- mine --
SELECT c.candidate_key FROM unnest(%(candidates)s::text[], %(keys)s::text[]) AS w (candidate_key, source_key)
JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = w.candidate_key AND c.source_key = w.source_key
WHERE c.source_name = %(source)s

-- candidates_alone --
-- The candidates of a range of pages, in some buckets, as one answer: candidate key, source key, version, and whether it is known
-- that its row is gone.
SELECT coalesce(jsonb_agg(jsonb_build_array(
         c.candidate_key, c.source_key, c.source_version::text,
         EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key
                 AND (o.facts @> '{{"state": {{"gone": true}}}}' OR o.facts @> '{{"state": {{"vanished": true}}}}')))), '[]'::jsonb)
FROM oneroof.governance_candidate_state AS c
WHERE {tids} AND c.source_name = %(source)s AND {bucket} = ANY (%(buckets)s::bigint[])

-- held --
SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c
WHERE c.candidate_key = ANY (%(keys)s::text[]) AND c.source_name = %(source)s

-- changed --
-- Rows of a range of pages whose candidate was made of other facts, although it is not news and is not waiting to be tried again.
SELECT count(*), (array_agg(r.candidate_key ORDER BY r.candidate_key COLLATE "C"))[1:%(names)s],
       -- By which item, if somebody has resolved it.
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

-- items --
-- Items of a source that are not over, but for those whose candidate is undecided for that.
SELECT t.item_id, t.source_key, t.row_xid FROM oneroof.governance_retry AS t
WHERE t.state IN ('waiting', 'dead') AND split_part(t.source_name, '#', 1) = %(source)s
  AND NOT EXISTS (SELECT FROM oneroof.governance_candidate_state AS c
                  WHERE c.candidate_key = t.candidate_key AND c.source_name = %(source)s AND c.undecided_reason IN ('retry', 'dead_letter'))

-- untold --
-- Of these items those whose row is the version that failed, or one that is not yet due, and has a candidate: whether that is of this
-- very version.
SELECT DISTINCT ON (r.candidate_key) i.item_id, r.candidate_key, c.source_version = r.source_version
FROM unnest(%(items)s::bigint[], %(keys)s::text[], %(xids)s::bigint[]) AS i (item_id, source_key, row_xid)
JOIN ({rows}) AS r ON r.source_key = i.source_key
JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = r.candidate_key AND c.source_name = %(source)s AND c.source_key = r.source_key
WHERE r.row_xid = i.row_xid OR r.row_xid >= %(frontier)s
ORDER BY r.candidate_key, i.row_xid DESC

-- classes --
-- Classes of which something else is known now than what their members were judged by.
SELECT n.class FROM oneroof.gov_class_facts() AS n
JOIN oneroof.governance_class AS k ON k.source_name = n.source_name AND k.class = n.class
WHERE n.source_name = %(source)s AND n.facts <> k.facts ORDER BY n.class COLLATE "C"

-- members --
-- Some of those who have one of these sets of facts.
SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c
WHERE c.facts_hash = ANY (%(hashes)s::bigint[]) AND c.source_name = %(source)s LIMIT %(names)s

-- member_count --
SELECT count(*) FROM oneroof.governance_candidate_state AS c
WHERE c.facts_hash = ANY (%(hashes)s::bigint[]) AND c.source_name = %(source)s

-- latest --
SELECT c.sha256 FROM oneroof.governance_certificate AS c ORDER BY c.sequence DESC LIMIT 1

-- chained --
SELECT c.sequence, c.previous_sha256, c.previous_sha256 IS NULL OR EXISTS (
         SELECT FROM oneroof.governance_certificate AS p WHERE p.sha256 = c.previous_sha256 AND p.sequence < c.sequence),
       (SELECT p.signer FROM oneroof.governance_certificate AS p WHERE p.sha256 = c.previous_sha256)
FROM oneroof.governance_certificate AS c WHERE c.sha256 = %(sha256)s

-- may_store --
SELECT has_function_privilege('oneroof.gov_certificate_store(jsonb)', 'EXECUTE') AND NOT pg_is_in_recovery()

-- store --
SELECT oneroof.gov_certificate_store(%(certificate)s::jsonb)

-- unchanged --
-- The rows of a range of pages that were written before a snapshot, and have not changed since.
SELECT count(*), coalesce(sum({hash}), 0) FROM {table} AS s WHERE {where}

-- standing --
-- The same of candidates, by grain and verdict.
SELECT s.grain, s.verdict, count(*) FROM oneroof.governance_candidate_state AS s
WHERE s.source_name = %(source)s AND {where} GROUP BY 1, 2
