-- judged --
-- Rows with the verdict of their facts, where those were judged and nothing is known of the object alone; else they are dirty.
SELECT b.*, coalesce(f.ruleset_version, %(ruleset)s) AS ruleset_version, coalesce(f.verdict, 'undecided') AS verdict,
       CASE WHEN f.verdict IS NULL THEN 'pending' ELSE f.undecided_reason END AS undecided_reason,
       coalesce(f.input_state, 'pending') AS input_state, f.verdict IS NULL AS dirty,
       CASE WHEN f.verdict IS NULL THEN 'object_born' END AS dirty_reason, CASE WHEN f.verdict IS NULL THEN m.at END AS dirtied_at,
       CASE WHEN f.verdict IS NOT NULL THEN m.at END AS scan_time, m.at + f.stale_after AS stale_after,
       (SELECT max(s.snapshot_ref)::text FROM oneroof.governance_snapshot AS s WHERE s.source_name = %(scope)s) AS snapshot_ref
FROM ({rows}) AS b CROSS JOIN (SELECT oneroof.gov_now() AS at) AS m
LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = %(scope)s AND f.facts_hash = b.facts_hash AND NOT f.is_dirty
  AND NOT EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = b.candidate_key)

-- seed --
-- In the order of their keys: the index of those is then met page by page, which saves a tenth of the time.
INSERT INTO oneroof.governance_candidate_state
  (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, class_mark, facts_hash, grain, verdict,
   undecided_reason, input_quality_state, dirty, dirty_reason, dirtied_at, scan_time, stale_after, source_snapshot_ref)
SELECT candidate_key, ruleset_version, group_key, %(scope)s, source_key, source_version, class_mark, facts_hash, grain, verdict,
       undecided_reason, input_state, dirty, dirty_reason, dirtied_at, scan_time, stale_after, snapshot_ref
FROM ({judged}) AS batch ORDER BY candidate_key

-- reseed --
-- What is there and the same is left alone before the upsert sees it, for even an upsert that changes nothing locks its row.
-- What another worker has changed since this one looked is newer, and is left alone as well; a column that is not written otherwise
-- carries the version that it was seen with.
INSERT INTO oneroof.governance_candidate_state AS c
  (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, class_mark, facts_hash, grain, coverage_decided_by, verdict,
   undecided_reason, input_quality_state, dirty, dirty_reason, dirtied_at, scan_time, stale_after, source_snapshot_ref)
SELECT DISTINCT ON (candidate_key) candidate_key, ruleset_version, group_key, %(scope)s, source_key, source_version, class_mark, facts_hash, grain,
       k.known_version, verdict, undecided_reason, input_state, dirty, dirty_reason, dirtied_at, scan_time, stale_after, snapshot_ref
FROM ({judged}) AS b
LEFT JOIN LATERAL (
  SELECT s.source_version::text AS known_version,
         s.source_name <> %(scope)s OR s.source_key <> b.source_key
         OR (s.facts_hash = b.facts_hash AND s.group_key = b.group_key AND s.grain = b.grain) AS is_settled
  FROM oneroof.governance_candidate_state AS s WHERE s.candidate_key = b.candidate_key LIMIT 1
) AS k ON true
WHERE k.is_settled IS NOT TRUE
ORDER BY candidate_key, ts, place
{upsert}
  AND c.source_version::text = excluded.coverage_decided_by

-- duplicates --
-- After a batch: its rows whose key another row has. Each is looked up: a join would read all candidates.
INSERT INTO oneroof.governance_duplicate (source_name, source_key, candidate_key, found_at, is_double)
SELECT %(scope)s, b.source_key, b.candidate_key, oneroof.gov_now(),
       %(births)s = EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = c.source_name AND s.births)
FROM ({rows}) AS b
CROSS JOIN LATERAL (SELECT k.source_name, k.source_key FROM oneroof.governance_candidate_state AS k WHERE k.candidate_key = b.candidate_key LIMIT 1) AS c
WHERE NOT b.own AND (c.source_name, c.source_key) <> (%(scope)s, b.source_key)
ON CONFLICT (source_name, source_key) DO UPDATE SET candidate_key = excluded.candidate_key, is_double = excluded.is_double

-- take --
-- Births whose objects were known from a registry of their class alone, and were not born: their candidates are the births' from now on.
WITH heir AS MATERIALIZED (
  SELECT DISTINCT ON (b.candidate_key) b.*, c.source_name AS held_by, c.source_key AS held_key
  FROM ({rows}) AS b
  CROSS JOIN LATERAL (SELECT k.source_name, k.source_key FROM oneroof.governance_candidate_state AS k WHERE k.candidate_key = b.candidate_key LIMIT 1) AS c
  WHERE %(births)s AND NOT b.own AND c.source_name <> %(scope)s
    AND NOT EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = c.source_name AND s.births)
  ORDER BY b.candidate_key, b.ts, b.place
), taken AS ({taken}), unnoted AS ({unnoted}), noted AS (
  INSERT INTO oneroof.governance_duplicate (source_name, source_key, candidate_key, found_at, is_double) {given_up}
  ON CONFLICT (source_name, source_key) DO UPDATE SET candidate_key = excluded.candidate_key, is_double = excluded.is_double
)
SELECT t.candidate_key, t.source_key FROM taken AS t

-- taken --
UPDATE oneroof.governance_candidate_state AS c
SET source_name = %(scope)s, source_key = h.source_key, source_version = h.source_version, group_key = h.group_key, class_mark = h.class_mark,
    facts_hash = h.facts_hash, grain = h.grain, change_number = c.change_number + 1, input_quality_state = 'pending', dirty = true, dirty_reason = 'source_row_changed',
    dirtied_at = (SELECT oneroof.gov_now()), updated_at = (SELECT oneroof.gov_now()),
    source_snapshot_ref = (SELECT max(s.snapshot_ref)::text FROM oneroof.governance_snapshot AS s WHERE s.source_name = %(scope)s)
FROM heir AS h
WHERE c.candidate_key = h.candidate_key AND (c.source_name, c.source_key) = (h.held_by, h.held_key)
RETURNING c.candidate_key, c.source_key, c.change_number, c.group_key, c.facts_hash, h.held_by, h.held_key

-- unnoted --
DELETE FROM oneroof.governance_duplicate AS d USING taken AS t WHERE d.source_name = %(scope)s AND d.source_key = t.source_key

-- given_up --
SELECT t.held_by, t.held_key, t.candidate_key, (SELECT oneroof.gov_now()), false FROM taken AS t

-- upsert --
-- One whose new facts were judged before has its verdict at once; another keeps the one it has and is dirty.
ON CONFLICT (candidate_key) DO UPDATE
SET group_key = excluded.group_key, source_version = excluded.source_version, class_mark = excluded.class_mark,
    facts_hash = excluded.facts_hash, grain = excluded.grain, change_number = c.change_number + 1, input_quality_state = excluded.input_quality_state,
    verdict = CASE WHEN excluded.dirty THEN c.verdict ELSE excluded.verdict END,
    undecided_reason = CASE WHEN excluded.dirty THEN c.undecided_reason ELSE excluded.undecided_reason END,
    ruleset_version = CASE WHEN excluded.dirty THEN c.ruleset_version ELSE excluded.ruleset_version END,
    scan_time = CASE WHEN excluded.dirty THEN c.scan_time ELSE excluded.scan_time END,
    stale_after = CASE WHEN excluded.dirty OR oneroof.gov_expiry_holds(c.stale_after, excluded.scan_time, excluded.stale_after - excluded.scan_time)
                       THEN c.stale_after ELSE excluded.stale_after END, dirty = excluded.dirty,
    dirty_reason = CASE WHEN excluded.dirty THEN 'source_row_changed' END, dirtied_at = excluded.dirtied_at, updated_at = oneroof.gov_now(),
    source_snapshot_ref = excluded.source_snapshot_ref
WHERE c.source_name = excluded.source_name AND c.source_key = excluded.source_key
  AND (c.facts_hash, c.group_key, c.grain) IS DISTINCT FROM (excluded.facts_hash, excluded.group_key, excluded.grain)

-- apply --
WITH batch AS MATERIALIZED ({rows}), {effects}
-- Of our own rows only those that count: the others were counted before.
SELECT b.read, b.counted, p.written, p.born, p.coalesced, b.own, mark.ts_text, mark.source_key, b.xids{told}
FROM (SELECT count(*) AS read, count(*) FILTER (WHERE {counts}) AS counted, count(*) FILTER (WHERE own AND {counts}) AS own,
             coalesce(array_agg(DISTINCT row_xid), '{{}}') AS xids FROM batch) AS b
CROSS JOIN (SELECT count(*) AS written, count(*) FILTER (WHERE born) AS born, coalesce(sum(coalesced), 0)::bigint AS coalesced FROM put) AS p
LEFT JOIN (SELECT ts_text, source_key FROM batch WHERE believed ORDER BY ts DESC, place DESC LIMIT 1) AS mark ON true

-- remembered --
INSERT INTO oneroof.governance_open_row (cursor_id, row_xid, key_mark)
SELECT %(cursor)s, row_xid, key_mark FROM batch WHERE row_xid >= %(keep)s

-- unwritten --
-- What was written from a version below the horizon says so itself, and the frontier pass does not come back to where it lies.
INSERT INTO oneroof.governance_open_row (cursor_id, row_xid, key_mark)
SELECT %(cursor)s, b.row_xid, b.key_mark FROM batch AS b WHERE b.row_xid >= %(keep)s OR b.own
UNION ALL
SELECT %(cursor)s, p.row_xid, p.key_mark FROM passed AS p WHERE p.row_xid < %(keep)s

-- spans --
-- The rows of each transaction are all there are from its first to its last one, since the batch is in the order of both. The next batch
-- of the same pass goes on where this one ended.
INSERT INTO oneroof.governance_open_span AS o (cursor_id, row_xid, pass, with_own, ordered_by, first_ts, first_key, last_ts, last_key)
SELECT %(cursor)s, n.row_xid, %(pass)s, %(with_own)s, %(ordered_by)s::text, (array_agg(n.ts_text ORDER BY n.turn))[1], (array_agg(n.source_key ORDER BY n.turn))[1],
       (array_agg(n.ts_text ORDER BY n.turn))[count(*)], (array_agg(n.source_key ORDER BY n.turn))[count(*)]
FROM (SELECT b.row_xid, b.ts_text, b.source_key, row_number() OVER () AS turn FROM batch AS b) AS n GROUP BY n.row_xid
ON CONFLICT (cursor_id, row_xid, pass) DO UPDATE SET last_ts = excluded.last_ts, last_key = excluded.last_key

-- staged --
SELECT false AS born, 0 AS coalesced, b.source_key FROM batch AS b
WHERE oneroof.gov_retry_stage(%(worker)s::text, %(source)s::text, %(table)s::text, b.source_key, b.row_xid, %(sqlstate)s::text, %(error)s::text)
