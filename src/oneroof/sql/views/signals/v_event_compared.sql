-- Governance rows of event_outbox, and rows marked as ours, each compared with what gov_emit wrote; and where it lies, and who wrote it.
CREATE VIEW oneroof.v_event_compared AS
SELECT o.id AS event_id, o.event_type, o.event_subject_table, o.event_subject_ref, o.source_system, o.created_at,
       o.ctid AS place, o.xmin AS written_by,
       CASE WHEN g.event_id IS NULL OR g.state NOT IN ('emitted', 'adopted') THEN 'not written by gov_emit'
            WHEN g.state = 'emitted'
                 AND ((o.event_domain, o.event_type, o.source_system, o.payload_classification)
                      IS DISTINCT FROM ('governance', g.event_type, 'oneroof', 'safe_metadata')
                      OR g.content_sha256 IS DISTINCT FROM oneroof.gov_event_digest(
                           o.event_subject_table, o.event_subject_ref, o.canonical_address, o.safe_payload::text, o.occurred_at))
              THEN 'altered since gov_emit wrote it' END AS fault
FROM host.event_outbox AS o LEFT JOIN oneroof.governance_event AS g ON g.event_id = o.id
WHERE o.event_domain = 'governance' OR starts_with(o.source_system, 'oneroof');
