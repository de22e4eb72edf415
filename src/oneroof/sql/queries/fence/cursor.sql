-- identity --
SELECT (SELECT system_identifier::text FROM pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)

-- read --
-- With the cluster and its timeline; and with when the oldest open transaction began, if it is asked for.
SELECT c.*, ({identity}), CASE WHEN {overlap}::text IS NOT NULL THEN oneroof.gov_oldest_transaction({overlap}::text::interval)::timestamp::text END
FROM oneroof.gov_cursor_read({worker}, {source}) AS c

-- open_window --
UPDATE oneroof.gov_worker_cursor
SET window_horizon = %(horizon)s::xid8, window_at = %(at)s, phase = %(phase)s, metadata = metadata || %(metadata)s,
    frontier = CASE WHEN cluster_identity = %(identity)s THEN frontier END, cluster_identity = %(identity)s
WHERE worker_name = %(worker)s AND source_name = %(source)s

-- advance --
SELECT oneroof.gov_cursor_advance({worker}::text, {source}::text, {at}::jsonb, {seen}::bigint, {written}::bigint, {coalesced}::bigint,
                                 {text}::text, {key}::text, {summary}::jsonb)

-- snapshot --
SELECT oneroof.gov_snapshot_take(%(source)s::text, %(scope)s::text, %(metrics)s::jsonb)

-- place --
UPDATE oneroof.gov_worker_cursor SET window_at = %(at)s, metadata = metadata || %(metadata)s
WHERE worker_name = %(worker)s AND source_name = %(source)s

-- forget --
-- Remembered xids of another cluster or timeline would be taken for this one's.
WITH here AS (
  SELECT c.cursor_id FROM oneroof.gov_worker_cursor AS c WHERE c.worker_name = %(worker)s AND c.source_name = %(source)s
), spans AS (
  DELETE FROM oneroof.governance_open_span AS o USING here AS h WHERE o.cursor_id = h.cursor_id
)
DELETE FROM oneroof.governance_open_row AS o USING here AS h WHERE o.cursor_id = h.cursor_id

-- close_window --
UPDATE oneroof.gov_worker_cursor
SET frontier = window_horizon, passed_at = oneroof.gov_now(), window_horizon = NULL, window_at = NULL, phase = %(phase)s,
    -- Where an old transaction pins the horizon, a pass ends where the one before did, and the frontier grows old.
    frontier_at = CASE WHEN frontier IS DISTINCT FROM window_horizon THEN oneroof.gov_now() ELSE frontier_at END
WHERE worker_name = %(worker)s AND source_name = %(source)s

-- pass_over --
-- A window in which nothing is new, opened and closed in one.
UPDATE oneroof.gov_worker_cursor
SET frontier = greatest(frontier, %(horizon)s::xid8), passed_at = oneroof.gov_now(), phase = 'incremental', metadata = metadata || %(metadata)s,
    frontier_at = CASE WHEN frontier < %(horizon)s::xid8 THEN oneroof.gov_now() ELSE frontier_at END
WHERE worker_name = %(worker)s AND source_name = %(source)s

-- summarise --
-- What a sweep has found, by the keys of doc 31 §4.2, from the books.
UPDATE oneroof.gov_worker_cursor AS c SET last_run_summary = c.last_run_summary || b.terms
FROM (SELECT jsonb_build_object(
        'covered', coalesce(sum(l.members) FILTER (WHERE l.verdict = 'covered'), 0),
        'orphans', coalesce(sum(l.members) FILTER (WHERE l.verdict = 'orphan'), 0),
        'exceptions', coalesce(sum(l.members) FILTER (WHERE l.verdict = 'approved_exception'), 0),
        'retired', coalesce(sum(l.members) FILTER (WHERE l.verdict = 'retired'), 0),
        'class_0', coalesce(sum(l.members) FILTER (WHERE l.verdict = 'class_0'), 0),
        'deferred_birth', coalesce(sum(l.members) FILTER (WHERE l.verdict = 'deferred_birth'), 0),
        'undecided', coalesce(sum(l.members) FILTER (WHERE l.verdict = 'undecided'), 0)) AS terms
      FROM oneroof.governance_ledger AS l WHERE l.source_name = %(books)s) AS b
WHERE c.worker_name = %(worker)s AND c.source_name = %(source)s

-- prune --
WITH gone AS (
  DELETE FROM oneroof.governance_open_row
  WHERE ctid = ANY (ARRAY(SELECT o.ctid FROM oneroof.governance_open_row AS o
                          WHERE o.cursor_id = %(cursor)s AND o.row_xid < %(frontier)s
                            AND (o.row_xid, o.key_mark) > (%(xid)s::bigint, %(mark)s::text)
                          ORDER BY o.row_xid, o.key_mark LIMIT %(most)s))
  RETURNING row_xid, key_mark
), spans AS (
  DELETE FROM oneroof.governance_open_span
  WHERE ctid = ANY (ARRAY(SELECT o.ctid FROM oneroof.governance_open_span AS o
                          WHERE o.cursor_id = %(cursor)s AND o.row_xid < %(frontier)s AND o.row_xid >= %(span)s::bigint
                          ORDER BY o.row_xid LIMIT %(most)s))
  RETURNING row_xid
)
SELECT coalesce(r.row_xid, %(xid)s), coalesce(r.key_mark, %(mark)s), coalesce(r.many, 0), coalesce(s.row_xid, %(span)s), s.many
FROM (SELECT max(row_xid) AS row_xid, count(*) AS many FROM spans) AS s
LEFT JOIN (SELECT row_xid, key_mark, count(*) OVER () AS many FROM gone ORDER BY row_xid DESC, key_mark DESC LIMIT 1) AS r ON true

-- start --
UPDATE oneroof.gov_worker_cursor SET frontier = %(frontier)s::xid8, frontier_at = oneroof.gov_now(), cluster_identity = %(identity)s,
  phase = 'incremental', metadata = metadata || %(metadata)s || jsonb_build_object('started', (
    SELECT least(s.added_at, oneroof.gov_now())::timestamp::text FROM oneroof.governance_source AS s WHERE s.source_name = %(source)s))
WHERE worker_name = %(worker)s AND source_name = %(source)s

-- rewind --
UPDATE oneroof.gov_worker_cursor
SET frontier = NULL, frontier_at = NULL, passed_at = NULL, window_horizon = NULL, window_at = NULL, phase = 'reconciling'
WHERE worker_name = %(worker)s AND source_name = %(source)s

-- fold --
-- Failed items go with their range to the whole.
WITH moved AS (
  UPDATE oneroof.governance_retry AS r SET source_name = %(source)s
  FROM oneroof.gov_worker_cursor AS c
  WHERE c.worker_name = %(worker)s AND c.metadata ->> 'range_of' = %(source)s
    AND r.worker_name = c.worker_name AND r.source_name = c.source_name
),
gone AS (
  DELETE FROM oneroof.gov_worker_cursor WHERE worker_name = %(worker)s AND metadata ->> 'range_of' = %(source)s
  RETURNING events_seen, attempts_written, dead_lettered
)
UPDATE oneroof.gov_worker_cursor AS c
SET events_seen = c.events_seen + g.seen, attempts_written = c.attempts_written + g.written, dead_lettered = c.dead_lettered + g.dead,
    metadata = c.metadata - 'ranges'
FROM (SELECT coalesce(sum(events_seen), 0)::bigint AS seen, coalesce(sum(attempts_written), 0)::bigint AS written,
             coalesce(sum(dead_lettered), 0)::bigint AS dead FROM gone) AS g
WHERE c.worker_name = %(worker)s AND c.source_name = %(source)s
