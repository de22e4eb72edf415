-- inventory --
-- Whoever has changed is written where he is, without the lock that an upsert takes first. Their keys are looked up, each by itself: a join would read all candidates. One whose new facts were judged before has its verdict at once; another keeps the one it has and is dirty.
moved AS (
  UPDATE oneroof.governance_candidate_state AS c
  SET group_key = b.group_key, source_version = b.source_version, class_mark = b.class_mark, facts_hash = b.facts_hash, grain = b.grain,
      change_number = c.change_number + 1, input_quality_state = coalesce(b.input_state, 'pending'), verdict = coalesce(b.verdict, c.verdict),
      undecided_reason = CASE WHEN b.verdict IS NULL THEN c.undecided_reason ELSE b.undecided_reason END,
      ruleset_version = coalesce(b.ruleset_version, c.ruleset_version), scan_time = coalesce(b.at, c.scan_time),
      stale_after = CASE WHEN b.verdict IS NULL THEN c.stale_after ELSE oneroof.gov_expiry_keep(c.stale_after, b.at, b.length) END,
      dirty = b.verdict IS NULL, dirty_reason = CASE WHEN b.verdict IS NULL THEN 'source_row_changed' END,
      dirtied_at = CASE WHEN b.verdict IS NULL THEN (SELECT oneroof.gov_now()) END, updated_at = (SELECT oneroof.gov_now()),
      source_snapshot_ref = (SELECT max(s.snapshot_ref)::text FROM oneroof.governance_snapshot AS s WHERE s.source_name = %(scope)s)
  FROM (SELECT b.candidate_key, b.source_key, b.source_version, b.group_key, b.grain, b.class_mark, b.facts_hash, b.ts, b.believed,
               g.verdict, g.undecided_reason, g.input_state, g.ruleset_version, g.stale_after AS length, CASE WHEN g.verdict IS NOT NULL THEN g.at END AS at
        FROM {from}) AS b
  WHERE c.candidate_key = b.candidate_key AND c.source_name = %(scope)s AND c.source_key = b.source_key
    AND c.candidate_key = ANY (ARRAY(SELECT k.candidate_key FROM batch AS k WHERE NOT k.own))
    AND (c.facts_hash, c.group_key, c.grain) IS DISTINCT FROM (b.facts_hash, b.group_key, b.grain)
  RETURNING c.candidate_key, c.source_key, c.change_number, c.facts_hash,
            CASE WHEN b.believed AND b.ts::timestamptz > c.created_at AND b.ts::timestamptz > {passed}
                 THEN b.ts::timestamptz ELSE (SELECT oneroof.gov_now()) END AS at
), made AS (
  INSERT INTO oneroof.governance_candidate_state AS c
    (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, class_mark, facts_hash, grain, verdict,
     undecided_reason, input_quality_state, dirty, dirty_reason, dirtied_at, scan_time, stale_after, source_snapshot_ref)
  SELECT DISTINCT ON (b.candidate_key) {columns}
  FROM (SELECT r.* FROM batch AS r WHERE NOT EXISTS (SELECT FROM moved AS w WHERE w.candidate_key = r.candidate_key)) AS b LEFT JOIN {sets}
  ORDER BY b.candidate_key, b.ts, b.place
  {upsert}
  RETURNING c.candidate_key, c.source_key, c.change_number, c.facts_hash, c.created_at
), written AS (
  SELECT w.candidate_key, w.source_key, w.change_number, w.facts_hash, NULL::timestamptz AS since, w.at FROM moved AS w
  UNION ALL
  SELECT n.*, NULL FROM made AS n
)

-- born --
-- The same where every key is believed to be new, which is what a backlog of births is.
made AS (
  INSERT INTO oneroof.governance_candidate_state
    (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, class_mark, facts_hash, grain, verdict,
     undecided_reason, input_quality_state, dirty, dirty_reason, dirtied_at, scan_time, stale_after, source_snapshot_ref)
  SELECT {columns}
  FROM {from} ORDER BY b.candidate_key
  RETURNING candidate_key, source_key, change_number, facts_hash, created_at AS since
), written AS (
  SELECT n.*, NULL::timestamptz AS at FROM made AS n
)

-- passed --
-- When all rows were last looked at. A row that changed may say when it was born, and not when it changed: newer than what is known of it,
-- and than this, or it is the time when it was seen (doc 32 §6: order by occurred_at).
coalesce((SELECT y.passed_at FROM oneroof.gov_worker_cursor AS y WHERE y.worker_name = 'gov_handoff_intake' AND y.source_name = %(scope)s), '-infinity')

-- columns --
-- A row with the verdict of its facts, where those were judged before and nothing is known of the object alone; else it is dirty, and
-- the gate and the scan find out. The clock is asked in queries of its own, which run once; in a join it could be once for every row.
b.candidate_key, coalesce(g.ruleset_version, %(ruleset)s), b.group_key, %(scope)s, b.source_key, b.source_version, b.class_mark,
b.facts_hash, b.grain, coalesce(g.verdict, 'undecided'), CASE WHEN g.verdict IS NULL THEN 'pending' ELSE g.undecided_reason END, coalesce(g.input_state, 'pending'),
g.verdict IS NULL, CASE WHEN g.verdict IS NULL THEN 'object_born' END, CASE WHEN g.verdict IS NULL THEN (SELECT oneroof.gov_now()) END,
CASE WHEN g.verdict IS NOT NULL THEN g.at END, g.at + g.stale_after,
(SELECT max(s.snapshot_ref)::text FROM oneroof.governance_snapshot AS s WHERE s.source_name = %(scope)s)

-- from --
batch AS b LEFT JOIN {sets}

-- sets --
sets AS g ON g.facts_hash = b.facts_hash
  AND NOT EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = b.candidate_key)
WHERE NOT b.own

-- object --
-- Every object that was written is to be told of, and that is written down in the transaction that wrote it. Of which kind a change is
-- depends on the facts alone, of which there are few.
known AS MATERIALIZED (
  SELECT d.*, f.verdict, f.undecided_reason, f.input_state, f.ruleset_version, f.stale_after
  FROM (SELECT DISTINCT ON (b.facts_hash) b.facts_hash, b.parts, b.group_key, b.grain FROM batch AS b WHERE NOT b.own ORDER BY b.facts_hash) AS d
  LEFT JOIN LATERAL (SELECT s.* FROM oneroof.governance_fact_set AS s
                     WHERE s.source_name = %(scope)s AND s.facts_hash = d.facts_hash AND NOT s.is_dirty LIMIT 1) AS f ON true
), learned AS MATERIALIZED (
  -- Facts that no row had before are learned and judged here; where there are none, the function is not called.
  SELECT l.*
  FROM (SELECT array_agg(g.facts_hash) AS hashes, array_agg(g.group_key) AS groups, array_agg(left(coalesce({kind}, ''), 500)) AS classes,
               array_agg(g.grain) AS grains, array_agg(jsonb_object({facts}::text[], g.parts[:cardinality({facts}::text[])])) AS facts
        FROM known AS g
        WHERE g.verdict IS NULL
          AND (SELECT true FROM oneroof.governance_fact_set AS s WHERE s.source_name = %(scope)s AND s.facts_hash = g.facts_hash LIMIT 1) IS NULL
        HAVING count(*) > 0) AS u
  CROSS JOIN LATERAL oneroof.gov_fact_sets_meet(%(scope)s::text, u.hashes, u.groups, u.classes, u.grains, u.facts) AS l
), sets AS MATERIALIZED (
  SELECT k.facts_hash, k.parts, k.group_key, (SELECT oneroof.gov_now()) AS at, coalesce(k.verdict, l.verdict) AS verdict,
         coalesce(k.undecided_reason, l.undecided_reason) AS undecided_reason, coalesce(k.input_state, l.input_state) AS input_state,
         coalesce(k.ruleset_version, l.ruleset_version) AS ruleset_version, coalesce(k.stale_after, l.stale_after) AS stale_after
  FROM known AS k LEFT JOIN learned AS l ON l.facts_hash = k.facts_hash
), {written},
passed AS MATERIALIZED (
  SELECT b.source_key, b.candidate_key, b.row_xid, b.key_mark FROM batch AS b
  WHERE NOT b.own AND NOT %(again)s
    AND NOT EXISTS (SELECT FROM written AS w WHERE w.candidate_key = b.candidate_key AND w.source_key = b.source_key)
), met AS MATERIALIZED (
  -- A row that another row's candidate stands for, in this batch or from before (doc 31 §6), and whether one of both is a birth.
  SELECT p.source_key, p.candidate_key, k.source_name AS held_by, k.source_key AS held_key,
         k.source_name <> %(scope)s
         AND %(births)s <> EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = k.source_name AND s.births) AS is_apart
  FROM passed AS p
  LEFT JOIN LATERAL (SELECT c.source_name, c.source_key FROM oneroof.governance_candidate_state AS c
                     WHERE c.candidate_key = p.candidate_key LIMIT 1) AS k ON true
  WHERE (k.source_name, k.source_key) <> (%(scope)s, p.source_key)
     OR EXISTS (SELECT FROM written AS w WHERE w.candidate_key = p.candidate_key)
), heir AS MATERIALIZED (
  SELECT DISTINCT ON (b.candidate_key) b.*, m.held_by, m.held_key
  FROM met AS m JOIN batch AS b ON b.source_key = m.source_key AND b.candidate_key = m.candidate_key
  WHERE %(births)s AND m.is_apart ORDER BY b.candidate_key, b.ts, b.place
), taken AS ({taken}), unnoted AS ({unnoted}), noted AS (
  INSERT INTO oneroof.governance_duplicate (source_name, source_key, candidate_key, found_at, is_double)
  SELECT %(scope)s, m.source_key, m.candidate_key, (SELECT oneroof.gov_now()), m.is_apart IS NOT TRUE FROM met AS m
  WHERE NOT EXISTS (SELECT FROM taken AS t WHERE t.candidate_key = m.candidate_key AND t.source_key = m.source_key)
    -- What is known to be gone stands for nobody.
    AND NOT EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = m.candidate_key
                    AND (o.facts @> '{{"state": {{"gone": true}}}}' OR o.facts @> '{{"state": {{"vanished": true}}}}'))
  UNION ALL {given_up}
  ON CONFLICT (source_name, source_key) DO UPDATE SET candidate_key = excluded.candidate_key, is_double = excluded.is_double
  RETURNING source_name, source_key, candidate_key, is_double, xmax = 0 AS is_new
), handed AS MATERIALIZED (
  SELECT w.candidate_key, w.source_key, w.change_number, w.facts_hash, w.change_number = 1 AS born, true AS is_put, w.since, w.at FROM written AS w
  UNION ALL
  SELECT t.candidate_key, t.source_key, t.change_number, t.facts_hash, true, true, NULL, NULL FROM taken AS t
  UNION ALL
  -- What was born before is registered now.
  SELECT b.candidate_key, b.source_key, 1, b.facts_hash, true, false, NULL, NULL
  FROM noted AS n JOIN batch AS b ON b.source_key = n.source_key AND b.candidate_key = n.candidate_key
  WHERE n.is_new AND NOT n.is_double AND n.source_name = %(scope)s AND NOT %(births)s
), kinds AS MATERIALIZED (
  -- The first mapping of the source, by priority, whose predicate the row meets; of one without any of its own, the first of * (doc 32 §3).
  SELECT d.facts_hash, d.born, {kind} AS class, {system} AS system, {actor} AS actor, g.group_key, k.change_kind AS kind,
         row_number() OVER () AS place
  FROM (SELECT DISTINCT h.facts_hash, h.born FROM handed AS h) AS d
  JOIN sets AS g ON g.facts_hash = d.facts_hash
  CROSS JOIN LATERAL (
    SELECT m.change_kind FROM oneroof.governance_handoff_map AS m
    WHERE m.source_name = (SELECT CASE WHEN EXISTS (SELECT FROM oneroof.governance_handoff_map AS o WHERE o.source_name = %(scope)s) THEN %(scope)s ELSE '*' END)
      AND (m.on_change = 'any' OR (m.on_change = 'birth') = d.born)
      AND (m.predicate IS NULL OR coalesce(jsonb_path_match(jsonb_object({names}::text[], g.parts), m.predicate, '{{}}', true), false))
    ORDER BY m.priority LIMIT 1) AS k
), untold AS (
  INSERT INTO oneroof.governance_untold (source_name, many, kinds, classes, groups, systems, actors, places, keys, numbers, refs, times)
  SELECT %(scope)s, cardinality(r.keys), s.kinds, s.classes, s.groups, s.systems, s.actors, r.places, r.keys, r.numbers, r.refs, r.times
  FROM (SELECT array_agg(k.kind ORDER BY k.place) AS kinds, array_agg(k.class ORDER BY k.place) AS classes,
               array_agg(k.group_key ORDER BY k.place) AS groups, array_agg(k.system ORDER BY k.place) AS systems,
               array_agg(k.actor ORDER BY k.place) AS actors FROM kinds AS k) AS s
  CROSS JOIN (SELECT array_agg(k.place) AS places, array_agg(w.source_key) AS keys, array_agg(w.change_number) AS numbers,
                     array_agg(w.candidate_key) AS refs, array_agg(w.at) AS times
              FROM (SELECT h.source_key, h.candidate_key, h.change_number, h.facts_hash, h.born, h.at FROM handed AS h WHERE h.at IS NOT NULL
                    UNION ALL
                    SELECT h.source_key, h.candidate_key, h.change_number, h.facts_hash, h.born,
                           CASE WHEN b.believed AND (h.born OR (b.ts::timestamptz > h.since AND b.ts::timestamptz > {passed}))
                                THEN b.ts::timestamptz ELSE (SELECT oneroof.gov_now()) END
                    FROM handed AS h JOIN batch AS b ON b.source_key = h.source_key AND b.candidate_key = h.candidate_key
                    WHERE h.at IS NULL) AS w
              JOIN kinds AS k ON k.facts_hash = w.facts_hash AND k.born = w.born) AS r
  WHERE r.keys IS NOT NULL
), put AS (SELECT h.born, 0 AS coalesced FROM handed AS h WHERE h.is_put)

-- changelog --
put AS ({marks})

-- marks --
-- A row for each mark; the first stands for all changes that have none of their own.
SELECT false AS born, CASE n WHEN 1 THEN t.changes - t.marked ELSE 0 END AS coalesced
FROM oneroof.gov_changes_take(%(scope)s::text, {again}, ({handed})) AS t CROSS JOIN LATERAL generate_series(1, t.marked) AS n

-- register --
-- What is as it was last seen is no change.
changed AS MATERIALIZED (
  INSERT INTO oneroof.governance_register_row AS r (source_name, key_mark, facts_hash)
  SELECT DISTINCT ON (key_mark) %(scope)s, key_mark, facts_hash FROM batch WHERE NOT own ORDER BY key_mark, row_xid DESC
  ON CONFLICT (source_name, key_mark) DO UPDATE SET facts_hash = excluded.facts_hash, change_number = r.change_number + 1
  WHERE r.facts_hash <> excluded.facts_hash
  RETURNING key_mark, change_number
), put AS ({marks})

-- seen --
-- The rows of a register as they are when it is first looked at: no change yet.
put AS (
  INSERT INTO oneroof.governance_register_row (source_name, key_mark, facts_hash)
  SELECT DISTINCT ON (key_mark) %(scope)s, key_mark, facts_hash FROM batch WHERE NOT own ORDER BY key_mark, row_xid DESC
  ON CONFLICT (source_name, key_mark) DO NOTHING
  RETURNING false AS born, 0 AS coalesced
)

-- handed --
-- Changes that are alike, together. Of those that are read again the ones without a time of their own are in no window: nobody knows
-- in which they were told.
SELECT jsonb_agg(jsonb_build_object(
  'row', jsonb_object({names}::text[], g.parts), 'class', {kind}, 'ref', g.ref, 'system', {system}, 'actor', {actor}, 'born', g.born,
  'many', g.many, 'at', g.at, 'start', g.start, 'ends', g.start + g.length))
FROM (SELECT b.parts, b.ref, {born} AS born, count(*) AS many, max(w.at) AS at,
             CASE WHEN b.believed OR NOT %(again)s THEN date_bin(p.coalesce_window, {moment}, 'epoch') END AS start, p.coalesce_window AS length
      FROM batch AS b {changed}
      CROSS JOIN LATERAL (SELECT CASE WHEN b.believed AND {timely} THEN b.ts::timestamptz ELSE (SELECT oneroof.gov_now()) END AS at) AS w
      CROSS JOIN (SELECT y.coalesce_window FROM oneroof.governance_worker_policy AS y WHERE y.worker_name = 'gov_handoff_intake') AS p
      WHERE NOT b.own AND (NOT %(again)s OR NOT b.believed OR b.ts >= %(started)s::text::{type})
      GROUP BY 1, 2, 3, 6, 7) AS g

-- timely --
-- Of a register: a row that was there when it was last looked at has changed since.
(d.change_number = 1 OR b.ts::timestamptz > (SELECT c.passed_at FROM oneroof.gov_worker_cursor AS c
                                             WHERE c.worker_name = 'gov_handoff_intake' AND c.source_name = %(scope)s))

-- tell_objects --
SELECT oneroof.gov_objects_emit(%(source)s::text, %(most)s::bigint, %(wait)s::boolean)

-- tell --
SELECT oneroof.gov_changes_emit(%(source)s::text, %(which)s::text)

-- count_untold --
SELECT count(*) FROM (SELECT DISTINCT h.source_name, h.change_kind, h.group_key FROM oneroof.governance_handoff AS h WHERE h.changes > h.told) AS g

-- note --
SELECT oneroof.gov_handoff_audit(%(source)s::text, %(what)s::text, %(seen)s::bigint, %(written)s::bigint)
