-- The governance rows of event_outbox, under any role, with the xid by which they are put in order.
CREATE VIEW oneroof.v_signal AS
SELECT o.id, o.event_type, o.event_stream, o.event_severity, o.event_subject_table, o.event_subject_ref, o.canonical_address,
       o.correlation_id, o.source_system, o.safe_payload, o.occurred_at, o.created_at, o.xmin AS row_version
FROM host.event_outbox AS o WHERE o.event_domain = 'governance';
