DROP TABLE public.governance_ruleset_rule;
DROP TABLE public.governance_ruleset;
DROP TABLE public.governance_rule;
DELETE FROM public.governance_finding_type
WHERE issue_type NOT IN ('cursor_lag', 'cursor_dlq', 'cursor_silent_gap', 'cursor_lease_conflict', 'cursor_watermark_regression',
                         'cursor_source_error', 'backfill_batch_failed', 'backfill_dlq_overflow', 'handoff_dlq_overflow')
  AND NOT EXISTS (SELECT FROM public.governance_finding AS f WHERE f.issue_type = governance_finding_type.issue_type);
