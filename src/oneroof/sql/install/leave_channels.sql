-- What we leave in the host's channels must not mislead: no gate of ours stays open, no request pending, no
-- lease held, no finding open that nobody would close.
UPDATE public.dot_config SET value = 'false', updated_at = now()
WHERE key IN (SELECT gate_key FROM public.governance_gate_opening WHERE closed_at IS NULL) AND value IS DISTINCT FROM 'false';
UPDATE public.approval_requests SET status = 'void', updated_at = now()
WHERE id IN (SELECT request_id FROM public.governance_request WHERE state = 'pending');
UPDATE public.queue_heartbeat SET lease_owner = NULL, updated_at = now()
WHERE executor_name IN (SELECT executor_name FROM public.governance_lease) AND lease_owner IS NOT NULL;
UPDATE public.system_issues SET status = 'resolved', resolved_at = now()
WHERE id IN (SELECT issue_id FROM public.governance_finding WHERE is_open) AND resolved_at IS NULL
  AND status NOT IN ('resolved', 'closed');
