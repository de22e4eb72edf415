-- approval_requests --
SELECT * FROM public.approval_requests WHERE id IN (SELECT request_id FROM public.governance_request)

-- dot_config --
SELECT * FROM public.dot_config WHERE key IN (SELECT gate_key FROM public.governance_gate_opening)

-- event_outbox --
SELECT * FROM public.event_outbox WHERE event_domain = 'governance' AND source_system = 'oneroof'

-- event_pending --
SELECT * FROM public.event_pending WHERE event_domain = 'governance' AND actor_ref = 'oneroof'

-- event_read --
SELECT * FROM public.event_read WHERE read_status_source = 'oneroof'

-- event_subscription --
SELECT * FROM public.event_subscription WHERE id IN (SELECT subscription_id FROM public.governance_subscription)

-- event_type_registry --
SELECT * FROM public.event_type_registry WHERE event_domain = 'governance' AND event_type IN (SELECT event_type FROM public.governance_event_type)

-- queue_heartbeat --
SELECT * FROM public.queue_heartbeat WHERE executor_name IN (SELECT executor_name FROM public.governance_lease)

-- registry_changelog --
SELECT * FROM public.registry_changelog WHERE entity_type LIKE 'oneroof.%'

-- system_issues --
SELECT * FROM public.system_issues WHERE source_system = 'oneroof'
