-- Move a cursor on inside its window, as whoever calls: one plan for the session, which the last message of every batch runs.
-- A watermark, if given, moves up and never down.
CREATE OR REPLACE FUNCTION oneroof.gov_cursor_advance(p_worker text, p_source text, p_at jsonb, p_seen bigint, p_written bigint,
                                                     p_coalesced bigint, p_text text, p_key text, p_summary jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  v_ts timestamptz := p_text::timestamptz;
BEGIN
  UPDATE oneroof.gov_worker_cursor AS c
  SET window_at = p_at,
      last_watermark_ts = greatest(c.last_watermark_ts, v_ts),
      last_watermark_id = CASE WHEN v_ts >= coalesce(c.last_watermark_ts, '-infinity') THEN p_key ELSE c.last_watermark_id END,
      watermark_text = CASE WHEN v_ts >= coalesce(c.last_watermark_ts, '-infinity') THEN p_text ELSE c.watermark_text END,
      events_seen = c.events_seen + p_seen, attempts_written = c.attempts_written + p_written,
      coalesced = c.coalesced + p_coalesced,
      last_run_at = oneroof.gov_now(),
      last_run_summary = p_summary || jsonb_build_object(
        'ended_at', oneroof.gov_now(), 'ruleset_version', oneroof.gov_ruleset_active(),
        'snapshot_ref', (SELECT max(s.snapshot_ref) FROM oneroof.governance_snapshot AS s WHERE s.source_name = split_part(p_source, '#', 1))),
      metadata = c.metadata || jsonb_build_object('batches', coalesce((c.metadata ->> 'batches')::bigint, 0) + 1)
  WHERE c.worker_name = p_worker AND c.source_name = p_source;
  -- Its source was removed while the batch was under way: what it has done is not kept.
  IF NOT FOUND THEN
    PERFORM oneroof.gov_refuse(format('nobody follows %s any more', p_source)::text, NULL::text);
  END IF;
  IF p_worker = 'gov_handoff_intake' AND p_written > 0 THEN
    PERFORM oneroof.gov_handoff_audit(p_source, 'take'::text, p_seen, p_written);
  END IF;
END
$$;
