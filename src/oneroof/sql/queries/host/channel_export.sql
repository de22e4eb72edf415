-- approval_requests --
SELECT * FROM host.approval_requests WHERE id IN (SELECT request_id FROM oneroof.governance_request)

-- dot_config --
SELECT * FROM host.dot_config WHERE key IN (SELECT gate_key FROM oneroof.governance_gate_opening)

-- event_outbox --
SELECT * FROM host.event_outbox WHERE event_domain = 'governance' AND source_system = 'oneroof'

-- event_pending --
SELECT * FROM host.event_pending WHERE event_domain = 'governance' AND actor_ref = 'oneroof'

-- event_read --
SELECT * FROM host.event_read WHERE read_status_source = 'oneroof'

-- event_subscription --
SELECT * FROM host.event_subscription WHERE id IN (SELECT subscription_id FROM oneroof.governance_subscription)

-- event_type_registry --
SELECT * FROM host.event_type_registry WHERE event_domain = 'governance' AND event_type IN (SELECT event_type FROM oneroof.governance_event_type)

-- queue_heartbeat --
SELECT * FROM host.queue_heartbeat WHERE executor_name IN (SELECT executor_name FROM oneroof.governance_lease)

-- registry_changelog --
SELECT * FROM host.registry_changelog WHERE entity_type LIKE 'oneroof.%'

-- system_issues --
SELECT * FROM host.system_issues WHERE source_system = 'oneroof'
