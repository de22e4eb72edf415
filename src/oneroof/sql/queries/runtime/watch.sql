-- reconcile --
-- In one order for everybody, so that two who watch at once may wait for each other but never in a circle. Details say only
-- what stays the same while the finding lasts: a changing number would make every look a new occurrence.
WITH workers AS MATERIALIZED (
  SELECT s.*, s.worker_name || ':' || s.source_name AS subject FROM oneroof.v_worker_status AS s
),
behind AS MATERIALIZED (
  SELECT o.source_name, p.lag_limit
  FROM oneroof.gov_scan_oldest() AS o
  JOIN oneroof.governance_worker_policy AS p ON p.worker_name = 'gov_candidate_scan'
  WHERE o.dirtied_at < (SELECT oneroof.gov_now()) - p.lag_limit
),
-- Verdicts that are stale for more than a moment: the scan is behind; or the oldest was to be renewed, and nobody has begun.
stale AS MATERIALIZED (
  SELECT b.source_name FROM behind AS b
  WHERE (SELECT sum(l.members) FROM oneroof.governance_ledger AS l WHERE l.source_name = b.source_name AND l.verdict = 'stale') > 0
  UNION
  SELECT o.source_name
  FROM (SELECT c.source_name, c.stale_after FROM oneroof.governance_candidate_state AS c
        WHERE c.stale_after IS NOT NULL ORDER BY c.stale_after LIMIT 1) AS o
  JOIN oneroof.governance_worker_policy AS p ON p.worker_name = 'gov_candidate_scan'
  WHERE o.stale_after < (SELECT oneroof.gov_now()) - p.lag_limit
),
wanted AS MATERIALIZED (
  SELECT 'cursor_silent_gap' AS issue_type, subject, worker_name || ' no longer ticks on ' || source_name AS title,
         jsonb_build_object('lease_owner', lease_owner, 'last_tick_at', last_tick_at, 'last_tick_status', last_tick_status) AS details
  FROM workers WHERE state = 'dead'
  UNION ALL
  SELECT 'cursor_lag', subject, worker_name || ' is further behind ' || source_name || ' than allowed',
         jsonb_build_object('frontier_at', frontier_at, 'frontier', frontier, 'pinned_by', pinned_by)
  FROM workers WHERE is_late
  UNION ALL
  -- Of the intake, in the words of the handoff (doc 32 §8).
  SELECT 'handoff_silent_gap', subject, 'the handoff of ' || source_name || ' no longer ticks', jsonb_build_object('last_tick_at', last_tick_at)
  FROM workers WHERE state = 'dead' AND worker_name = 'gov_handoff_intake'
  UNION ALL
  SELECT 'handoff_lag', subject, 'the handoff of ' || source_name || ' is further behind than allowed', jsonb_build_object('pinned_by', pinned_by)
  FROM workers WHERE is_late AND worker_name = 'gov_handoff_intake'
  UNION ALL
  SELECT 'handoff_dlq', subject, 'handoffs of ' || source_name || ' failed every attempt', '{}'::jsonb
  FROM workers WHERE dead > 0 AND worker_name = 'gov_handoff_intake'
  UNION ALL
  SELECT 'scan_lag', 'gov_candidate_scan:' || b.source_name, 'candidates of ' || b.source_name || ' wait longer for their verdict than allowed',
         jsonb_build_object('source', b.source_name, 'limit', b.lag_limit::text)
  FROM behind AS b
  UNION ALL
  SELECT 'stale_verdict', 'gov_candidate_scan:' || t.source_name, 'verdicts of ' || t.source_name || ' were not renewed in time',
         jsonb_build_object('source', t.source_name)
  FROM stale AS t
  UNION ALL
  -- A table that was dropped takes its rows with it, and whoever follows it has nothing to say any more.
  SELECT 'cursor_source_error', 'source:' || s.source_name, 'the table of source ' || s.source_name || ' is not there any more', '{}'::jsonb
  FROM oneroof.governance_source AS s WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.oid = s.relation)
),
over AS MATERIALIZED (
  SELECT f.issue_type, substr(f.coalesce_key, length(f.issue_type) + 2) AS subject, f.last_seen_at
  FROM oneroof.governance_finding AS f
  WHERE f.is_open AND f.issue_type IN ('cursor_silent_gap', 'cursor_lag', 'cursor_lease_conflict', 'cursor_dlq',
                                       'cursor_source_error', 'cursor_watermark_regression',
                                       'backfill_batch_failed', 'backfill_dlq_overflow', 'handoff_dlq_overflow',
                                       'handoff_silent_gap', 'handoff_lag', 'handoff_dlq', 'group_invalidation_storm',
                                       'handoff_unregistered_type', 'issue_event_gap', 'signal_refused', 'scan_lag', 'stale_verdict')
),
acts AS MATERIALIZED (
  SELECT issue_type, subject, title, details, true AS is_wanted FROM wanted
  UNION ALL
  SELECT o.issue_type, o.subject, NULL, NULL, false
  FROM over AS o
  CROSS JOIN LATERAL (
    SELECT count(*) AS dead FROM oneroof.governance_retry AS r
    WHERE r.worker_name = split_part(o.subject, ':', 1) AND r.source_name = regexp_replace(o.subject, '^[^:]*:', '') AND r.state = 'dead'
  ) AS r
  LEFT JOIN oneroof.governance_worker_policy AS p ON p.worker_name = split_part(o.subject, ':', 1)
  WHERE CASE
    WHEN o.issue_type IN ('cursor_silent_gap', 'cursor_lag', 'handoff_silent_gap', 'handoff_lag', 'handoff_dlq', 'scan_lag', 'stale_verdict')
         OR starts_with(o.subject, 'source:')
      THEN NOT EXISTS (SELECT FROM wanted AS w WHERE w.issue_type = o.issue_type AND w.subject = o.subject)
    -- Whoever was sick, perhaps in another process, and has moved its cursor since is well.
    WHEN o.issue_type IN ('cursor_source_error', 'cursor_watermark_regression')
      THEN EXISTS (SELECT FROM oneroof.gov_worker_cursor AS c
                   WHERE c.worker_name || ':' || c.source_name = o.subject AND c.updated_at > o.last_seen_at)
           -- Also of a range of the source, or of a part of its worker.
           OR EXISTS (SELECT FROM oneroof.governance_source_removed AS g
                      WHERE starts_with(regexp_replace(o.subject, '^[^:]*:', '') || '/', g.source_name || '/')
                         OR starts_with(regexp_replace(o.subject, '^[^:]*:', ''), g.source_name || '#'))
    -- A storm that was absorbed may come again in a moment, unless nobody is at work.
    WHEN o.issue_type = 'group_invalidation_storm'
      THEN oneroof.gov_group_marks_share() <= p.storm_share
           AND (o.last_seen_at < (SELECT oneroof.gov_now()) - interval '2 minutes'
                OR NOT EXISTS (SELECT FROM workers AS w
                               WHERE w.worker_name = 'gov_handoff_intake' AND w.state IN ('working', 'quiet', 'blind')))
    WHEN o.issue_type = 'cursor_lease_conflict' THEN o.last_seen_at < (SELECT oneroof.gov_now()) - interval '2 minutes'
    -- The switch is the host's, and may be turned without asking us.
    WHEN o.issue_type IN ('handoff_unregistered_type', 'issue_event_gap')
      THEN EXISTS (SELECT FROM oneroof.v_event_type AS t WHERE 'gov_emit:' || t.event_type = o.subject AND t.is_active)
    WHEN o.issue_type = 'signal_refused'
      THEN NOT EXISTS (SELECT FROM oneroof.governance_event AS e WHERE e.state = 'stuck' AND 'event_outbox:' || e.event_type = o.subject)
    WHEN o.issue_type ~ '_overflow$' THEN r.dead <= coalesce(p.dlq_limit, 0)
    ELSE r.dead = 0
  END
  ORDER BY issue_type, subject
)
-- What began has a signal, where there is a type for it, with how often it has begun.
SELECT a.coalesce_key, a.is_wanted, a.is_changed, CASE WHEN a.is_wanted THEN t.event_type END, a.subject, a.times
FROM (SELECT issue_type || ':' || subject AS coalesce_key, issue_type, subject, is_wanted,
             CASE WHEN is_wanted THEN oneroof.gov_finding_keep(issue_type::text, subject::text, title::text, details::jsonb)
                  ELSE oneroof.gov_finding_clear(issue_type::text, subject::text) END AS is_changed,
             1 + coalesce((SELECT f.reopen_count + 1 FROM oneroof.v_finding AS f WHERE f.coalesce_key = acts.issue_type || ':' || acts.subject), 0) AS times
      FROM acts) AS a
LEFT JOIN oneroof.governance_event_type AS t ON t.event_type = 'governance.' || regexp_replace(a.issue_type, '_', '.')

-- heartbeat --
SELECT oneroof.gov_handoff_heartbeat()
