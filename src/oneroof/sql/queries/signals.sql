-- page --
-- Below the horizon every transaction is finished, so nothing can still appear there; the order is that of the transactions, then
-- of the rows in them. The horizon is that of the very snapshot that reads the rows. A 32-bit xmin is the last xid with these bits.
WITH bounds AS MATERIALIZED (
  SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next
), page AS MATERIALIZED (
  SELECT s.* FROM (
    SELECT o.id, o.event_type, o.event_stream, o.event_severity, o.event_subject_table, o.event_subject_ref, o.canonical_address,
           o.correlation_id, o.safe_payload, o.occurred_at,
           b.next - mod(b.next - o.row_version::text::bigint, 4294967296) AS xid,
           coalesce(extract(epoch FROM o.created_at), 'Infinity'::numeric) AS born
    FROM public.v_signal AS o CROSS JOIN bounds AS b
    WHERE (%(xid)s::bigint = 0 OR age(o.row_version) <= (SELECT age(%(floor)s::text::xid))) AND (%(types)s::text[] IS NULL OR o.event_type LIKE ANY (%(types)s::text[]))
  ) AS s
  WHERE s.xid < (SELECT horizon FROM bounds) AND (s.xid, s.born, s.id) > (%(xid)s::bigint, %(born)s::numeric, %(id)s::uuid)
  ORDER BY s.xid, s.born, s.id LIMIT %(most)s
)
SELECT b.horizon, p.id::text AS event_id, p.event_type, p.event_stream, p.event_severity AS severity,
       p.event_subject_table AS subject_table, p.event_subject_ref AS subject_ref, p.canonical_address, p.correlation_id,
       p.safe_payload AS payload,
       CASE WHEN p.occurred_at >= '0001-01-01 00:00:00+00' AND p.occurred_at < '9999-12-31 00:00:00+00'
            THEN to_char(p.occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END AS time,
       p.xid, p.born::text AS born
FROM bounds AS b LEFT JOIN page AS p ON true
ORDER BY p.xid, p.born, p.id
