-- page --
-- Below the horizon every transaction is finished, so nothing can still appear there; the order is that of the transactions, then
-- of the rows in them. The horizon is that of the very snapshot that reads the rows. Xids are compared by their age, which counts back
-- from now; that of a row of more than 2^31 transactions ago is negative, and counts as the largest.
WITH horizon AS MATERIALIZED (
  SELECT h.xid, age(mod(h.xid, 4294967296)::text::xid) AS old
  FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xid) AS h
), place AS MATERIALIZED (
  SELECT least(h.old + h.xid - %(xid)s::bigint, 2147483647) AS old FROM horizon AS h
), page AS MATERIALIZED (
  SELECT s.* FROM (
    SELECT o.id, o.event_type, o.event_stream, o.event_severity, o.event_subject_table, o.event_subject_ref, o.canonical_address,
           o.correlation_id, o.safe_payload, o.occurred_at, coalesce(o.created_at, 'infinity') AS born,
           CASE WHEN age(o.row_version) < 0 THEN 2147483647 ELSE age(o.row_version) END AS old
    FROM oneroof.v_signal AS o
    WHERE %(types)s::text[] IS NULL OR o.event_type LIKE ANY (%(types)s::text[])
  ) AS s
  WHERE s.old > (SELECT old FROM horizon) AND s.old <= (SELECT old FROM place)
    AND (s.old < (SELECT old FROM place) OR (s.born, s.id) > (%(born)s::timestamptz, %(id)s::uuid))
  ORDER BY s.old DESC, s.born, s.id LIMIT %(most)s
)
SELECT h.xid AS horizon, p.id::text AS event_id, p.event_type, p.event_stream, p.event_severity AS severity,
       p.event_subject_table AS subject_table, p.event_subject_ref AS subject_ref, p.canonical_address, p.correlation_id,
       p.safe_payload AS payload,
       CASE WHEN p.occurred_at >= '0001-01-01 00:00:00+00' AND p.occurred_at < '9999-12-31 00:00:00+00'
            THEN to_char(p.occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END AS time,
       h.xid + h.old - p.old AS xid, to_jsonb(p.born) #>> '{}' AS born
FROM horizon AS h LEFT JOIN page AS p ON true
ORDER BY p.old DESC, p.born, p.id

-- horizon --
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint
