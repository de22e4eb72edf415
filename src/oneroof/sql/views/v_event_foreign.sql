-- Governance rows of event_outbox, or rows marked as ours, that gov_emit did not write as they are: whoever owns the table can.
CREATE VIEW public.v_event_foreign AS
SELECT o.id AS event_id, o.event_type, o.event_subject_table, o.event_subject_ref, o.source_system, o.created_at,
       CASE WHEN g.event_id IS NULL OR g.state NOT IN ('emitted', 'adopted') THEN 'not written by gov_emit'
            WHEN o.copies > 1 THEN 'written more than once'
            ELSE 'altered since gov_emit wrote it' END AS reason
FROM (
  SELECT e.*, count(*) OVER (PARTITION BY e.id) AS copies FROM public.event_outbox AS e
  WHERE e.event_domain = 'governance' OR starts_with(e.source_system, 'oneroof')
) AS o
LEFT JOIN public.governance_event AS g ON g.event_id = o.id
WHERE g.event_id IS NULL OR g.state NOT IN ('emitted', 'adopted') OR o.copies > 1
   OR (g.state = 'emitted'
       AND ((o.event_domain, o.event_type, o.source_system, o.payload_classification)
            IS DISTINCT FROM ('governance', g.event_type, 'oneroof', 'safe_metadata')
            OR g.content_sha256 IS DISTINCT FROM public.gov_event_digest(
                 o.event_subject_table, o.event_subject_ref, o.canonical_address, o.safe_payload, o.occurred_at)));
