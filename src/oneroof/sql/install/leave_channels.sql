-- What we leave in the host's channels must not mislead: no gate of ours stays open, no request pending, no
-- lease held, no finding open that would never be closed, no type of signal active that is never emitted, and no event held that
-- would never be promoted.
UPDATE host.dot_config SET value = 'false', updated_at = now()
WHERE key IN (SELECT gate_key FROM oneroof.governance_gate_opening WHERE closed_at IS NULL) AND value IS DISTINCT FROM 'false';
UPDATE host.approval_requests SET status = 'void', updated_at = now()
WHERE id IN (SELECT request_id FROM oneroof.governance_request WHERE state = 'pending');
UPDATE host.queue_heartbeat SET lease_owner = NULL, updated_at = now()
WHERE executor_name IN (SELECT executor_name FROM oneroof.governance_lease) AND lease_owner IS NOT NULL;
UPDATE host.system_issues SET status = 'resolved', resolved_at = now()
WHERE id IN (SELECT issue_id FROM oneroof.governance_finding WHERE is_open) AND resolved_at IS NULL
  AND status NOT IN ('resolved', 'closed');
DO $events$
BEGIN
  -- Not there where the schema is older than its code.
  IF to_regclass('oneroof.governance_event_activation') IS NOT NULL THEN
    UPDATE host.event_type_registry SET active = false
    WHERE active AND event_domain = 'governance'
      AND event_type IN (SELECT event_type FROM oneroof.governance_event_activation WHERE deactivated_at IS NULL);
    UPDATE host.event_pending SET processed_at = now(), capture_payload = capture_payload || '{"state": "left"}'
    WHERE processed_at IS NULL AND actor_ref = 'oneroof' AND event_domain = 'governance'
      AND capture_payload ->> 'event_id' IN (SELECT event_id::text FROM oneroof.governance_event WHERE state IN ('held', 'stuck', 'untrusted'));
  END IF;
END
$events$;
