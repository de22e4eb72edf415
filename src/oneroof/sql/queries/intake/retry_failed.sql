-- over --
-- Of these items the ones whose row is another version now that was applied: one below the frontier was, unless it is an item itself.
WITH over AS MATERIALIZED (
  SELECT i.item_id FROM unnest(%(items)s::bigint[], %(keys)s::text[], %(xids)s::bigint[]) AS i (item_id, source_key, row_xid)
  JOIN ({rows}) AS r ON r.source_key = i.source_key
  GROUP BY i.item_id
  HAVING bool_and(r.row_xid <> i.row_xid AND r.row_xid < %(frontier)s AND NOT EXISTS (
    SELECT FROM oneroof.governance_retry AS t
    WHERE t.key_mark = r.key_mark AND t.row_xid = r.row_xid AND t.state <> 'done' AND split_part(t.source_name, '#', 1) = %(scope)s))
)
SELECT CASE WHEN EXISTS (SELECT FROM over)
            THEN oneroof.gov_retry_end(ARRAY(SELECT o.item_id FROM over AS o), 'done'::text, 'applied again'::text) ELSE 0 END

-- know --
SELECT oneroof.gov_retry_link_candidates(%(scope)s::text, array_agg(r.source_key), array_agg(r.candidate_key)) FROM ({rows}) AS r WHERE NOT r.own
