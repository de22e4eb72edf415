-- by_hashing --
-- A piece is added up by hashing, whatever the planner knows of tables that were never analysed; what differs is looked up. A list
-- of facts is hashed too, where the plan is made for it.
SELECT set_config('work_mem', '64MB', true), set_config('enable_sort', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('random_page_cost', '1.1', true), set_config('plan_cache_mode', 'force_custom_plan', true)

-- frontier --
-- Below it every row was applied: the intake's, or the first sweep's until the intake has begun; none where neither is of this cluster.
SELECT CASE WHEN i.frontier IS NOT NULL THEN CASE WHEN i.cluster_identity = %(identity)s THEN i.frontier END
            WHEN i.phase IS NULL AND b.cluster_identity = %(identity)s THEN b.frontier END::text::bigint
FROM oneroof.gov_worker_cursor AS b
LEFT JOIN oneroof.gov_worker_cursor AS i ON i.worker_name = 'gov_handoff_intake' AND i.source_name = b.source_name
WHERE b.worker_name = 'gov_backfill_sweep' AND b.source_name = %(source)s AND b.frontier IS NOT NULL

-- pages --
SELECT pg_relation_size('oneroof.governance_candidate_state') / current_setting('block_size')::bigint

-- forget --
DELETE FROM oneroof.governance_audit_facts WHERE source_name = %(scope)s

-- drifted --
-- The facts of which there are not the same rows and candidates, how many those are, and how many more or fewer.
SELECT coalesce(array_agg(a.facts_hash), '{}'), coalesce(sum(greatest(a.row_count, a.candidate_count, 1)), 0)::bigint,
       coalesce(sum(abs(a.row_count - a.candidate_count)), 0)::bigint
FROM oneroof.governance_audit_facts AS a
WHERE a.source_name = %(scope)s AND (a.row_count, a.row_sum) <> (a.candidate_count, a.candidate_sum)

-- empty --
DELETE FROM oneroof.governance_audit_bucket WHERE source_name = %(scope)s

-- known --
SELECT o.candidate_key FROM oneroof.governance_object AS o WHERE o.candidate_key > %(after)s ORDER BY o.candidate_key LIMIT %(batch)s

-- differing --
SELECT count(*) FROM oneroof.governance_audit_bucket AS a WHERE a.source_name = %(scope)s AND (a.members, a.hashes) <> (0, 0)

-- snapshot --
-- What the source was found to have, group by group, as a snapshot. The fingerprint of a group is over its sets of facts.
SELECT oneroof.gov_snapshot_take(%(scope)s::text, 'governance.audit'::text, jsonb_build_object(
         'frontier', %(frontier)s::text, 'rows', coalesce(sum(g.rows), 0), 'groups', coalesce(jsonb_object_agg(g.group_key, g.said), '{}')))
FROM (SELECT coalesce(f.group_key, '') AS group_key, sum(a.row_count) AS rows,
             jsonb_build_object('rows', sum(a.row_count), 'newest', max(a.newest),
                                'fingerprint', md5(string_agg(format('%%s %%s %%s', a.facts_hash, a.row_count, a.row_sum), ',' ORDER BY a.facts_hash))) AS said
      FROM oneroof.governance_audit_facts AS a
      LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = %(scope)s AND f.facts_hash = a.facts_hash
      WHERE a.source_name = %(scope)s AND a.row_count <> 0 GROUP BY 1) AS g

-- signals --
SELECT oneroof.gov_events_examine(interval '2 seconds')

-- closed --
UPDATE oneroof.gov_worker_cursor
SET passed_at = oneroof.gov_now(), window_at = NULL, metadata = metadata || jsonb_build_object('source_snapshot_ref', %(snapshot)s::bigint)
WHERE worker_name = %(worker)s AND source_name = %(source)s

-- verdicts --
-- Candidates of some facts that are not dirty have the verdict of what they are judged by, or are judged again; and each is in the
-- group of its facts. One that another session has locked is waited for: the audit does not come back to it.
WITH picked AS MATERIALIZED (
  SELECT c.candidate_key, coalesce(f.group_key, c.group_key) AS group_key, coalesce(f.grain, c.grain) AS grain,
         coalesce(f.class_mark, c.class_mark) AS class_mark
  FROM oneroof.governance_candidate_state AS c
  LEFT JOIN oneroof.governance_object AS o ON o.candidate_key = c.candidate_key
  LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = c.source_name AND f.facts_hash = c.facts_hash
  WHERE c.ctid >= %(first)s::tid AND c.ctid < %(last)s::tid AND c.source_name = %(scope)s AND c.facts_hash = ANY (%(suspects)s::bigint[])
    AND CASE WHEN (c.group_key, c.grain, c.class_mark) <> (f.group_key, f.grain, f.class_mark) THEN true
             WHEN c.dirty THEN false
             WHEN o.candidate_key IS NOT NULL
             THEN NOT o.is_dirty
                  AND ((c.verdict, c.undecided_reason, c.input_quality_state) IS DISTINCT FROM (o.verdict, o.undecided_reason, o.input_state)
                       OR NOT oneroof.gov_expiry_holds(c.stale_after, c.scan_time, o.stale_after))
             WHEN f.facts_hash IS NULL THEN true
             ELSE NOT f.is_dirty AND NOT f.is_spreading
                  AND ((c.verdict, c.undecided_reason, c.input_quality_state) IS DISTINCT FROM (f.verdict, f.undecided_reason, f.input_state)
                       OR NOT oneroof.gov_expiry_holds(c.stale_after, c.scan_time, f.stale_after)) END
  FOR UPDATE OF c
)
UPDATE oneroof.governance_candidate_state AS c
SET group_key = p.group_key, grain = p.grain, class_mark = p.class_mark, dirty = true, dirty_reason = 'audit_verdict', dirtied_at = oneroof.gov_now(),
    input_quality_state = 'pending', updated_at = oneroof.gov_now()
FROM picked AS p WHERE c.candidate_key = p.candidate_key

-- heirs --
SELECT DISTINCT ON (d.candidate_key) d.candidate_key, d.source_key FROM oneroof.governance_duplicate AS d
WHERE d.source_name = %(scope)s AND d.candidate_key = ANY (%(lost)s::text[]) ORDER BY d.candidate_key, d.source_key

-- lose --
SELECT oneroof.gov_objects_vanish(%(scope)s::text, %(lost)s::text[])

-- notes --
SELECT d.source_key FROM oneroof.governance_duplicate AS d
WHERE d.source_name = %(scope)s AND d.source_key > %(after)s ORDER BY d.source_key LIMIT %(batch)s

-- noted --
SELECT d.source_key FROM oneroof.governance_duplicate AS d WHERE d.source_name = %(scope)s AND d.source_key = ANY (%(keys)s::text[])

-- uncount --
DELETE FROM oneroof.governance_audit_count WHERE source_name = %(scope)s

-- miscounted --
-- Groups that were not counted as the books have them: what has moved since, and what is wrong.
SELECT coalesce(array_agg(DISTINCT group_key), '{}')
FROM (SELECT group_key, grain, verdict, undecided_reason, members FROM oneroof.governance_audit_count WHERE source_name = %(scope)s) AS a
FULL JOIN (SELECT group_key, grain, verdict, undecided_reason, sum(members) AS members FROM oneroof.governance_ledger
           WHERE source_name = %(scope)s GROUP BY 1, 2, 3, 4) AS l USING (group_key, grain, verdict, undecided_reason)
WHERE coalesce(a.members, 0) <> coalesce(l.members, 0)

-- recount --
SELECT oneroof.gov_ledger_recount(%(scope)s::text, %(groups)s::text[])

-- decide --
SELECT oneroof.gov_vanished_decide(%(scope)s::text, %(share)s::float8, %(least)s::bigint, %(batch)s::bigint)

-- held --
-- In one order for all sessions. A group that is held is a finding; one that is no longer held is none.
WITH acts AS MATERIALIZED (
  SELECT g.source_name || ':' || g.group_key AS subject, g.held, g.members, g.allowed IS NULL AS is_held
  FROM oneroof.governance_vanishing AS g WHERE g.source_name = %(scope)s AND g.allowed IS NULL
  UNION ALL
  SELECT substr(f.coalesce_key, length(f.issue_type) + 2), 0, 0, false
  FROM oneroof.governance_finding AS f
  WHERE f.is_open AND f.issue_type = 'mass_vanishing' AND starts_with(f.coalesce_key, 'mass_vanishing:' || %(scope)s || ':')
    AND NOT EXISTS (SELECT FROM oneroof.governance_vanishing AS g
                    WHERE g.source_name = %(scope)s AND g.allowed IS NULL AND f.coalesce_key = 'mass_vanishing:' || g.source_name || ':' || g.group_key)
  ORDER BY subject
)
SELECT count(*) FILTER (WHERE a.is_held),
       count(CASE WHEN a.is_held
                  THEN oneroof.gov_finding_keep('mass_vanishing'::text, a.subject::text,
                         format('objects of %%s vanished at once and are held', regexp_replace(a.subject, '^[^:]*:', ''))::text,
                         jsonb_build_object('source', %(scope)s::text, 'group', regexp_replace(a.subject, '^[^:]*:', ''), 'vanished', a.held,
                                            'members', a.members))
                  ELSE oneroof.gov_finding_clear('mass_vanishing'::text, a.subject::text) END)
FROM acts AS a
