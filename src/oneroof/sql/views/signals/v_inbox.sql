-- What each recipient is subscribed to and has not muted: the signals of ours that fit at least one of its subscriptions, once however many
-- fit, and when it was seen; more than once only where the host has written a signal or its reading twice, since no key keeps it from that
-- (doc 41 §41.8). What a subscription leaves NULL fits anything.
CREATE VIEW oneroof.v_inbox AS
SELECT w.recipient_ref, o.id AS event_id, o.event_type, o.event_stream, o.event_severity, o.event_subject_table, o.event_subject_ref,
       o.canonical_address, o.correlation_id, o.safe_payload, o.occurred_at, o.created_at, r.read_at
FROM (SELECT DISTINCT s.recipient_ref FROM oneroof.v_event_subscription AS s WHERE NOT s.mute) AS w
JOIN host.event_outbox AS o ON o.event_domain = 'governance' AND o.source_system = 'oneroof'
LEFT JOIN host.event_read AS r ON r.event_id = o.id AND r.actor_ref = w.recipient_ref
WHERE EXISTS (
  SELECT FROM oneroof.v_event_subscription AS s
  WHERE s.recipient_ref = w.recipient_ref AND NOT s.mute
    AND (s.event_type IS NULL OR s.event_type = o.event_type)
    AND (s.event_stream IS NULL OR s.event_stream = o.event_stream)
    AND (s.scope_subject_table IS NULL OR s.scope_subject_table = o.event_subject_table)
    AND o.safe_payload @> s.scope_filter);
