-- The vocabulary with what the host's registry says of it, which is what counts; of several rows of a type all must be active.
CREATE VIEW oneroof.v_event_type AS
SELECT
  t.event_type, t.family, coalesce(r.event_stream, t.event_stream) AS event_stream, coalesce(r.delivery_lane, t.delivery_lane) AS delivery_lane,
  coalesce(r.default_severity, t.default_severity) AS default_severity, t.owner_hint, t.subject_table, t.payload_keys, t.description,
  r.rows > 0 AS is_registered, coalesce(r.is_active, false) AS is_active,
  a.request_id, q.requester AS requested_by, q.decider AS approved_by, a.activated_at
FROM oneroof.governance_event_type AS t
CROSS JOIN LATERAL (
  SELECT count(*) AS rows, bool_and(e.active) AS is_active, min(e.event_stream) AS event_stream, min(e.delivery_lane) AS delivery_lane,
         min(e.default_severity) AS default_severity
  FROM host.event_type_registry AS e WHERE e.event_domain = 'governance' AND e.event_type = t.event_type
) AS r
LEFT JOIN oneroof.governance_event_activation AS a ON a.event_type = t.event_type AND a.deactivated_at IS NULL
LEFT JOIN oneroof.governance_request AS q ON q.request_id = a.request_id;
