-- frontier --
-- Below it every row was applied: the intake's, or the first sweep's until the intake has begun; none where neither is of this cluster.
SELECT CASE WHEN i.frontier IS NOT NULL THEN CASE WHEN i.cluster_identity = %(identity)s THEN i.frontier END
            WHEN i.phase IS NULL AND b.cluster_identity = %(identity)s THEN b.frontier END::text::bigint
FROM public.gov_worker_cursor AS b
LEFT JOIN public.gov_worker_cursor AS i ON i.worker_name = 'gov_handoff_intake' AND i.source_name = b.source_name
WHERE b.worker_name = 'gov_backfill_sweep' AND b.source_name = %(source)s AND b.frontier IS NOT NULL

-- pages --
SELECT pg_relation_size('public.governance_candidate_state') / current_setting('block_size')::bigint

-- forget --
DELETE FROM public.governance_audit_bucket WHERE source_name = %(scope)s

-- add --
INSERT INTO public.governance_audit_bucket AS a (source_name, bucket, members, fingerprint)
SELECT %(scope)s, b.bucket, {sign} * b.members, {sign} * b.fingerprint FROM ({buckets}) AS b
ON CONFLICT (source_name, bucket) DO UPDATE SET members = a.members + excluded.members, fingerprint = a.fingerprint + excluded.fingerprint

-- suspects --
SELECT coalesce(array_agg(bucket ORDER BY bucket), '{}') FROM public.governance_audit_bucket
WHERE source_name = %(scope)s AND (members <> 0 OR fingerprint <> 0)

-- closed --
UPDATE public.gov_worker_cursor SET passed_at = public.gov_now(), window_at = NULL
WHERE worker_name = %(worker)s AND source_name = %(source)s

-- verdicts --
-- Candidates that are not dirty have the verdict of what they are judged by, or are judged again. One that somebody
-- holds is waited for: the audit does not come back to it.
WITH picked AS MATERIALIZED (
  SELECT c.candidate_key
  FROM public.governance_candidate_state AS c
  LEFT JOIN public.governance_object AS o ON o.candidate_key = c.candidate_key
  LEFT JOIN public.governance_fact_set AS f ON f.source_name = c.source_name AND f.facts_hash = c.facts_hash
  WHERE c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid AND c.source_name = %(scope)s AND NOT c.dirty
    AND CASE WHEN o.candidate_key IS NOT NULL
             THEN NOT o.is_dirty AND (c.verdict, c.undecided_reason, c.input_quality_state, c.stale_after)
                  IS DISTINCT FROM (o.verdict, o.undecided_reason, o.input_state, c.scan_time + o.stale_after)
             WHEN f.facts_hash IS NULL THEN true
             ELSE NOT f.is_dirty AND NOT f.is_spreading AND (c.verdict, c.undecided_reason, c.input_quality_state, c.stale_after)
                  IS DISTINCT FROM (f.verdict, f.undecided_reason, f.input_state, c.scan_time + f.stale_after) END
  FOR UPDATE OF c
)
UPDATE public.governance_candidate_state AS c
SET dirty = true, dirty_reason = 'audit_verdict', dirtied_at = public.gov_now(), input_quality_state = 'pending', updated_at = public.gov_now()
FROM picked AS p WHERE c.candidate_key = p.candidate_key

-- found --
-- Rows that are not accounted as they are. One that failed is accounted by its item.
SELECT r.source_key, r.candidate_key,
       CASE WHEN c.candidate_key IS NULL THEN 'missing' WHEN {buried} THEN 'reborn'
            WHEN (c.source_name, c.source_key) <> (%(scope)s::text, r.source_key) THEN 'duplicates'
            WHEN (c.facts_hash, c.group_key, c.grain) <> (r.facts_hash, r.group_key, r.grain) THEN 'drifted'
            ELSE 'noted' END
FROM ({rows}) AS r
-- Row by row, by the index: a join would read all candidates for every piece.
LEFT JOIN LATERAL (SELECT k.* FROM public.governance_candidate_state AS k WHERE k.candidate_key = r.candidate_key LIMIT 1) AS c ON true
LEFT JOIN public.governance_object AS o ON o.candidate_key = c.candidate_key
LEFT JOIN public.governance_duplicate AS d ON d.source_name = %(scope)s AND d.source_key = r.source_key
WHERE NOT r.own
  AND CASE WHEN c.candidate_key IS NULL OR {buried} THEN true
           WHEN (c.source_name, c.source_key) <> (%(scope)s::text, r.source_key) THEN d.candidate_key IS DISTINCT FROM r.candidate_key
           ELSE d.source_key IS NOT NULL OR (c.facts_hash, c.group_key, c.grain) <> (r.facts_hash, r.group_key, r.grain) END
  AND NOT EXISTS (SELECT FROM public.governance_retry AS t
                  WHERE t.key_mark = r.key_mark AND t.state IN ('waiting', 'dead') AND split_part(t.source_name, '#', 1) = %(scope)s)
LIMIT %(batch)s

-- mend --
-- Candidates of rows as these are now, dirty; a candidate of another row only where that row has no more claim to it.
INSERT INTO public.governance_candidate_state AS c
  (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, facts_hash, grain, dirty, dirty_reason, dirtied_at)
SELECT DISTINCT ON (candidate_key) candidate_key, %(ruleset)s, group_key, %(scope)s, source_key, source_version, facts_hash, grain,
       true, 'audit_missing', (SELECT public.gov_now())
FROM ({rows}) AS b WHERE NOT own ORDER BY candidate_key, ts, place
ON CONFLICT (candidate_key) DO UPDATE
SET source_name = excluded.source_name, source_key = excluded.source_key, source_version = excluded.source_version,
    group_key = excluded.group_key, facts_hash = excluded.facts_hash, grain = excluded.grain, change_number = c.change_number + 1,
    input_quality_state = 'pending', dirty = true, dirty_reason = %(reason)s, dirtied_at = public.gov_now(), updated_at = public.gov_now()
WHERE (c.source_name, c.source_key) = (excluded.source_name, excluded.source_key) OR c.candidate_key = ANY (%(heirs)s::text[])
RETURNING candidate_key, source_key

-- accounted --
SELECT c.candidate_key, c.source_key
FROM public.governance_candidate_state AS c
LEFT JOIN public.governance_object AS o ON o.candidate_key = c.candidate_key
WHERE c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid AND c.source_name = %(scope)s AND {bucket} = ANY (%(buckets)s::bigint[])
  AND NOT ({buried})

-- lost --
-- Candidates without their row: it is not there, or it is another object now; one that was just written is the intake's affair.
SELECT k.candidate_key FROM unnest(%(candidates)s::text[], %(keys)s::text[]) AS k (candidate_key, source_key)
WHERE NOT EXISTS (SELECT FROM ({rows}) AS r WHERE r.source_key = k.source_key
                  AND (r.candidate_key = k.candidate_key OR r.row_xid >= %(frontier)s))

-- heirs --
SELECT DISTINCT ON (d.candidate_key) d.candidate_key, d.source_key FROM public.governance_duplicate AS d
WHERE d.source_name = %(scope)s AND d.candidate_key = ANY (%(lost)s::text[]) ORDER BY d.candidate_key, d.source_key

-- lose --
SELECT public.gov_candidates_lose(%(scope)s::text, %(lost)s::text[])

-- notes --
SELECT d.source_key FROM public.governance_duplicate AS d
WHERE d.source_name = %(scope)s AND d.source_key > %(after)s ORDER BY d.source_key LIMIT %(batch)s

-- tear --
-- A note is right as long as its row is there, and another row's candidate stands for it.
DELETE FROM public.governance_duplicate AS d
WHERE d.source_name = %(scope)s AND d.source_key = ANY (%(keys)s::text[])
  AND NOT EXISTS (
    SELECT FROM ({rows}) AS r
    JOIN public.governance_candidate_state AS c ON c.candidate_key = r.candidate_key
    LEFT JOIN public.governance_object AS o ON o.candidate_key = c.candidate_key
    WHERE r.source_key = d.source_key AND r.candidate_key = d.candidate_key AND NOT ({buried})
      AND (c.source_name, c.source_key) <> (%(scope)s::text, r.source_key))

-- unnote --
DELETE FROM public.governance_duplicate AS d WHERE d.source_name = %(scope)s AND d.source_key = ANY (%(keys)s::text[])

-- uncount --
DELETE FROM public.governance_audit_count WHERE source_name = %(scope)s

-- count --
INSERT INTO public.governance_audit_count AS a (source_name, group_key, grain, verdict, undecided_reason, members)
SELECT c.source_name, c.group_key, c.grain, c.verdict, coalesce(c.undecided_reason, ''), count(*)
FROM public.governance_candidate_state AS c
WHERE c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid AND c.source_name = %(scope)s
GROUP BY 1, 2, 3, 4, 5
ON CONFLICT (source_name, group_key, grain, verdict, undecided_reason) DO UPDATE SET members = a.members + excluded.members

-- miscounted --
-- Groups that were not counted as the books have them: what has moved since, and what is wrong.
SELECT coalesce(array_agg(DISTINCT group_key), '{}')
FROM (SELECT group_key, grain, verdict, undecided_reason, members FROM public.governance_audit_count WHERE source_name = %(scope)s) AS a
FULL JOIN (SELECT group_key, grain, verdict, undecided_reason, sum(members) AS members FROM public.governance_ledger
           WHERE source_name = %(scope)s GROUP BY 1, 2, 3, 4) AS l USING (group_key, grain, verdict, undecided_reason)
WHERE coalesce(a.members, 0) <> coalesce(l.members, 0)

-- recount --
SELECT public.gov_ledger_recount(%(scope)s::text, %(groups)s::text[])

-- decide --
SELECT public.gov_vanished_decide(%(scope)s::text, %(share)s::float8, %(least)s::bigint, %(batch)s::bigint)

-- held --
-- In one order for everybody. A group that is held is a finding; one that is no longer held is none.
WITH acts AS MATERIALIZED (
  SELECT g.source_name || ':' || g.group_key AS subject, g.held, g.members, g.allowed IS NULL AS is_held
  FROM public.governance_vanishing AS g WHERE g.source_name = %(scope)s AND g.allowed IS NULL
  UNION ALL
  SELECT substr(f.coalesce_key, length(f.issue_type) + 2), 0, 0, false
  FROM public.governance_finding AS f
  WHERE f.is_open AND f.issue_type = 'mass_vanishing' AND starts_with(f.coalesce_key, 'mass_vanishing:' || %(scope)s || ':')
    AND NOT EXISTS (SELECT FROM public.governance_vanishing AS g
                    WHERE g.source_name = %(scope)s AND g.allowed IS NULL AND f.coalesce_key = 'mass_vanishing:' || g.source_name || ':' || g.group_key)
  ORDER BY subject
)
SELECT count(*) FILTER (WHERE a.is_held),
       count(CASE WHEN a.is_held
                  THEN public.gov_finding_raise('mass_vanishing'::text, a.subject::text,
                         format('%%s of %%s objects of %%s vanished at once and are held', a.held, a.members, regexp_replace(a.subject, '^[^:]*:', ''))::text,
                         jsonb_build_object('source', %(scope)s::text, 'group', regexp_replace(a.subject, '^[^:]*:', ''), 'vanished', a.held,
                                            'members', a.members))
                  ELSE public.gov_finding_clear('mass_vanishing'::text, a.subject::text) END)
FROM acts AS a

-- waiting --
-- How many candidates have waited longer for their verdict than allowed, and how long that is.
SELECT count(*), (SELECT p.lag_limit::text FROM public.governance_worker_policy AS p WHERE p.worker_name = 'gov_candidate_scan')
FROM public.governance_candidate_state AS c
WHERE c.source_name = %(scope)s AND c.dirty
  AND c.dirtied_at < (SELECT public.gov_now()) - (SELECT p.lag_limit FROM public.governance_worker_policy AS p WHERE p.worker_name = 'gov_candidate_scan')
