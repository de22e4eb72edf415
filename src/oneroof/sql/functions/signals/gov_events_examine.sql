-- Look at what was written to event_outbox since the last whole look, by row headers: governance rows, or rows with our mark, that
-- gov_emit did not write as they are become a finding (doc 41 §41.6). The owner of the table can do that; none of our roles can.
-- Page by page, for no longer than p_long; who comes next goes on from there. Where what was found is gone everything is looked at
-- anew, and if nothing is found the finding closes.
-- Answers how many were found.
CREATE OR REPLACE FUNCTION oneroof.gov_events_examine(p_long interval) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
  v_began CONSTANT timestamptz := clock_timestamp();
  v_here CONSTANT text := oneroof.gov_cluster()::text;
  v_horizon CONSTANT xid8 := pg_snapshot_xmin(pg_current_snapshot());
  v_blocks CONSTANT bigint := pg_relation_size('host.event_outbox') / current_setting('block_size')::bigint;
  v_state oneroof.governance_event_examined;
  v_all uuid[] := '{}';
  v_some uuid[];
  v_open uuid[];
BEGIN
  SELECT x.* INTO v_state FROM oneroof.governance_event_examined AS x FOR UPDATE;
  -- Of another cluster, or too far back, nothing is known.
  IF v_state.cluster IS DISTINCT FROM v_here OR v_horizon::text::bigint - v_state.horizon::text::bigint > 1073741824 THEN
    v_state.horizon := NULL;
    v_state.target := NULL;
  END IF;
  v_open := (SELECT ARRAY(SELECT jsonb_array_elements_text(f.details -> 'samples'))::uuid[] FROM oneroof.v_finding AS f
             WHERE f.coalesce_key = 'direct_write:event_outbox' AND f.is_open);
  IF v_open IS NOT NULL AND v_state.horizon IS NOT NULL AND NOT EXISTS (SELECT FROM oneroof.v_event_foreign AS f WHERE f.event_id = ANY (v_open)) THEN
    v_state.horizon := NULL;
    v_state.target := NULL;
  END IF;
  IF v_state.target IS NULL THEN
    v_state.target := v_horizon;
    v_state.page := 0;
  END IF;
  WHILE v_state.page < v_blocks AND clock_timestamp() < v_began + p_long LOOP
    v_some := ARRAY(
      SELECT c.event_id FROM oneroof.v_event_compared AS c
      WHERE c.place >= format('(%s,0)', v_state.page)::tid AND c.place < format('(%s,0)', v_state.page + 1000)::tid
        AND (v_state.horizon IS NULL OR age(c.written_by) <= age(v_state.horizon::xid)) AND c.fault IS NOT NULL);
    v_all := v_all || v_some;
    v_state.page := v_state.page + 1000;
  END LOOP;
  IF v_state.page >= v_blocks THEN
    IF v_open IS NOT NULL AND v_state.horizon IS NULL AND v_all = '{}'
       AND NOT EXISTS (SELECT FROM oneroof.v_event_foreign AS f WHERE f.event_id = ANY (v_open)) THEN
      PERFORM oneroof.gov_finding_clear('direct_write'::text, 'event_outbox'::text);
    END IF;
    v_state.horizon := v_state.target;
    v_state.target := NULL;
  END IF;
  INSERT INTO oneroof.governance_event_examined AS x (cluster, horizon, target, page)
  VALUES (v_here, v_state.horizon, v_state.target, v_state.page)
  ON CONFLICT (only_row) DO UPDATE SET cluster = excluded.cluster, horizon = excluded.horizon, target = excluded.target, page = excluded.page;
  IF v_all <> '{}' THEN
    PERFORM oneroof.gov_finding_keep('direct_write'::text, 'event_outbox'::text, 'event_outbox has governance rows that gov_emit did not write as they are'::text,
                                    jsonb_build_object('found', cardinality(v_all), 'samples', to_jsonb(v_all[1:5])));
  END IF;
  RETURN cardinality(v_all);
END
$$;
