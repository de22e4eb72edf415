-- ground --
-- The tables that hold the rows, partitions and children: how long the longest is, which they are, where they lie, and
-- how many writes the server has counted.
WITH RECURSIVE leaf (relid) AS (
  SELECT %(relation)s::text::regclass::oid
  UNION SELECT h.inhrelid FROM pg_catalog.pg_inherits AS h JOIN leaf AS l ON h.inhparent = l.relid
)
SELECT coalesce(max(pg_relation_size(l.relid) / current_setting('block_size')::bigint), 0) AS blocks,
       coalesce(array_agg(l.relid::bigint ORDER BY l.relid), '{}') AS leaves,
       md5(coalesce(string_agg(l.relid || '/' || pg_relation_filenode(l.relid), ',' ORDER BY l.relid), '')) AS files,
       CASE WHEN current_setting('track_counts')::boolean
            THEN coalesce(sum(pg_stat_get_tuples_inserted(l.relid) + pg_stat_get_tuples_updated(l.relid)
                              + pg_stat_get_tuples_deleted(l.relid)), 0)::bigint END AS written
FROM leaf AS l JOIN pg_catalog.pg_class AS c ON c.oid = l.relid WHERE c.relkind = 'r'
