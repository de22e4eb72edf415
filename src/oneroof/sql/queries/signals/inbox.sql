-- require --
SELECT oneroof.gov_recipient_require(%(recipient)s::text)

-- page --
-- A row for each signal of the page, or one without. Ids are counted and put in order, and only a page of them becomes signals; an id
-- that is in the outbox twice is one.
WITH mine AS MATERIALIZED (
  SELECT i.event_id, max(i.created_at) AS born, min(i.read_at) AS read_at FROM oneroof.v_inbox AS i
  WHERE i.recipient_ref = %(recipient)s::text GROUP BY i.event_id
), page AS MATERIALIZED (
  SELECT m.event_id, m.born, m.read_at FROM mine AS m WHERE m.read_at IS NULL OR %(everything)s::boolean
  ORDER BY m.born DESC NULLS LAST, m.event_id LIMIT %(most)s
), whole AS MATERIALIZED (
  -- As an array they are looked for in one pass where the host has no index.
  SELECT DISTINCT ON (o.id) o.id, o.event_type, o.event_stream, o.event_severity, o.event_subject_table, o.event_subject_ref,
         o.canonical_address, o.correlation_id, o.safe_payload, o.occurred_at
  FROM oneroof.v_signal AS o WHERE o.id = ANY (ARRAY(SELECT p.event_id FROM page AS p)) AND o.source_system = 'oneroof'
  ORDER BY o.id, o.created_at DESC NULLS LAST
)
SELECT c.unread, c.read, p.event_id::text AS event_id, w.event_type, w.event_stream, w.event_severity AS severity,
       w.event_subject_table AS subject_table, w.event_subject_ref AS subject_ref, w.canonical_address, w.correlation_id,
       w.safe_payload AS payload, w.occurred_at::text AS occurred_at, p.born::text AS emitted_at, p.read_at::text AS read_at
FROM (SELECT count(*) FILTER (WHERE m.read_at IS NULL) AS unread, count(m.read_at) AS read FROM mine AS m) AS c
LEFT JOIN page AS p ON true LEFT JOIN whole AS w ON w.id = p.event_id
ORDER BY p.born DESC NULLS LAST, p.event_id

-- subscriptions --
SELECT count(*) AS found, count(*) FILTER (WHERE s.mute) AS muted FROM oneroof.v_event_subscription AS s
WHERE s.recipient_ref = %(recipient)s::text

-- subscribe --
SELECT subscription_id::text, is_new, is_muted
FROM oneroof.gov_inbox_subscribe(%(recipient)s::text, %(type)s::text, %(stream)s::text, %(table)s::text, %(filter)s::jsonb)

-- read --
SELECT oneroof.gov_inbox_read(%(recipient)s::text, %(events)s::uuid[], %(most)s::bigint)

-- mute --
SELECT matching, changed, wide FROM oneroof.gov_inbox_mute(%(recipient)s::text, %(types)s::text[], %(mute)s::boolean)
