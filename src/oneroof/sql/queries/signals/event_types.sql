-- listing --
SELECT t.event_type, t.family, t.event_stream, t.delivery_lane, t.default_severity, t.owner_hint, t.subject_table, t.payload_keys,
       t.description, t.is_registered, t.is_active, coalesce(h.held, 0) AS held, t.request_id, t.requested_by, t.approved_by, t.activated_at
FROM oneroof.v_event_type AS t
LEFT JOIN (SELECT e.event_type, count(*) AS held FROM oneroof.governance_event AS e WHERE e.state IN ('held', 'stuck') GROUP BY e.event_type) AS h
  ON h.event_type = t.event_type
ORDER BY pg_catalog.array_position(ARRAY['handoff', 'backfill', 'input', 'candidate', 'coverage', 'lifecycle', 'cursor'], t.family),
         t.event_type COLLATE "C"

-- names --
SELECT t.event_type FROM oneroof.governance_event_type AS t ORDER BY t.event_type COLLATE "C"

-- strays --
SELECT e.event_type, count(*) AS held FROM oneroof.governance_event AS e
WHERE e.state = 'held' AND NOT EXISTS (SELECT FROM oneroof.governance_event_type AS t WHERE t.event_type = e.event_type)
GROUP BY e.event_type ORDER BY e.event_type

-- register --
SELECT oneroof.gov_events_register(%(types)s::text[])

-- deactivate --
SELECT oneroof.gov_event_deactivate(%(types)s::text[], %(reason)s::text)
