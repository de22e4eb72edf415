-- Governance rows of event_outbox, or rows marked as ours, that gov_emit did not write as they are: the owner of the table can.
CREATE VIEW oneroof.v_event_foreign AS
SELECT o.event_id, o.event_type, o.event_subject_table, o.event_subject_ref, o.source_system, o.created_at,
       CASE WHEN o.copies > 1 AND o.fault IS DISTINCT FROM 'not written by gov_emit' THEN 'written more than once' ELSE o.fault END AS reason
FROM (SELECT c.*, count(*) OVER (PARTITION BY c.event_id) AS copies FROM oneroof.v_event_compared AS c) AS o
WHERE o.fault IS NOT NULL OR o.copies > 1;
