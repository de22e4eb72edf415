-- approval_requests --
SELECT * FROM public.approval_requests WHERE id IN (SELECT request_id FROM public.governance_request)

-- dot_config --
SELECT * FROM public.dot_config WHERE key IN (SELECT gate_key FROM public.governance_gate_opening)

-- queue_heartbeat --
SELECT * FROM public.queue_heartbeat WHERE executor_name IN (SELECT executor_name FROM public.governance_lease)

-- registry_changelog --
SELECT * FROM public.registry_changelog WHERE entity_type LIKE 'oneroof.%'

-- system_issues --
SELECT * FROM public.system_issues WHERE source_system = 'oneroof'
