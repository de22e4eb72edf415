-- Where a worker is in a source, made if it is its first time; with the horizon and the next xid as they are before any row of
-- the transaction's later statements is read.
CREATE OR REPLACE FUNCTION oneroof.gov_cursor_read(p_worker text, p_source text)
RETURNS TABLE (cursor_id bigint, worker_name text, source_name text, phase text, last_watermark_ts text, last_watermark_id text,
               watermark_text text, frontier bigint, window_horizon bigint, window_at jsonb, cluster_identity text,
               events_seen bigint, metadata jsonb, rested double precision, has_due boolean, has_untold boolean, horizon bigint, next_xid bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
  FOR attempt IN 1 .. 2 LOOP
    RETURN QUERY
    SELECT c.cursor_id, c.worker_name, c.source_name, c.phase, c.last_watermark_ts::text, c.last_watermark_id, c.watermark_text,
           c.frontier::text::bigint, c.window_horizon::text::bigint, c.window_at, c.cluster_identity, c.events_seen, c.metadata,
           coalesce(extract(epoch FROM oneroof.gov_now() - coalesce(c.passed_at, c.frontier_at)), 1e9)::float8,
           EXISTS (SELECT FROM oneroof.governance_retry AS r
                   WHERE r.worker_name = c.worker_name AND r.source_name = c.source_name AND r.state = 'waiting'
                     AND r.next_attempt_at <= (SELECT oneroof.gov_now())),
           p_worker = 'gov_handoff_intake' AND EXISTS (
             SELECT FROM oneroof.governance_handoff AS h
             WHERE h.source_name = p_source AND h.changes > h.told AND h.window_end <= (SELECT oneroof.gov_now())),
           pg_snapshot_xmin(pg_current_snapshot())::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    FROM oneroof.gov_worker_cursor AS c WHERE c.worker_name = p_worker AND c.source_name = p_source;
    EXIT WHEN FOUND;
    IF EXISTS (SELECT FROM oneroof.governance_source_removed AS g WHERE g.source_name = split_part(p_source, '#', 1)) THEN
      PERFORM oneroof.gov_refuse(format('the source %s was removed', p_source)::text, NULL::text);
    END IF;
    INSERT INTO oneroof.gov_worker_cursor (worker_name, source_name) VALUES (p_worker, p_source) ON CONFLICT DO NOTHING;
  END LOOP;
END
$$;
