-- The host's subscriptions that can bring a signal of ours: those of our domain, and of every domain where type and stream allow it.
CREATE VIEW oneroof.v_event_subscription AS
SELECT s.id AS subscription_id, s.recipient_ref, s.event_domain, s.event_type, s.event_stream, s.scope_subject_table, s.scope_filter, s.mute,
       s.created_at
FROM host.event_subscription AS s
WHERE s.event_domain = 'governance'
   OR (s.event_domain IS NULL AND (s.event_type IS NULL OR starts_with(s.event_type, 'governance.'))
       AND (s.event_stream IS NULL OR starts_with(s.event_stream, 'governance.')));
