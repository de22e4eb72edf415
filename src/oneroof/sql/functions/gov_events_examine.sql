-- Look at what was written to event_outbox since the last look, by row headers: governance rows, or rows with our mark, that gov_emit did
-- not write as they are become a finding (doc 41 §41.6). Somebody who owns the table can do that; none of our roles can. What is
-- open closes when there is no such row left. Answers how many were found.
CREATE OR REPLACE FUNCTION public.gov_events_examine() RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
  v_here CONSTANT text := public.gov_cluster()::text;
  v_horizon CONSTANT xid8 := pg_snapshot_xmin(pg_current_snapshot());
  v_from xid8;
  v_found bigint;
  v_samples jsonb;
BEGIN
  -- Of another cluster, or too far back, nothing is known.
  SELECT x.horizon INTO v_from FROM public.governance_event_examined AS x
  WHERE x.cluster = v_here AND v_horizon::text::bigint - x.horizon::text::bigint < 1073741824 FOR UPDATE;
  SELECT count(*), jsonb_agg(f.id ORDER BY f.id) FILTER (WHERE f.place <= 5) INTO v_found, v_samples
  FROM (SELECT e.id, row_number() OVER (ORDER BY e.id) AS place
        FROM public.event_outbox AS e LEFT JOIN public.governance_event AS g ON g.event_id = e.id
        WHERE (v_from IS NULL OR age(e.xmin) <= age(v_from::xid))
          AND (e.event_domain = 'governance' OR starts_with(e.source_system, 'oneroof'))
          AND (g.event_id IS NULL OR g.state NOT IN ('emitted', 'adopted')
               OR (g.state = 'emitted'
                   AND ((e.event_domain, e.event_type, e.source_system, e.payload_classification)
                        IS DISTINCT FROM ('governance', g.event_type, 'oneroof', 'safe_metadata')
                        OR g.content_sha256 IS DISTINCT FROM public.gov_event_digest(
                             e.event_subject_table, e.event_subject_ref, e.canonical_address, e.safe_payload, e.occurred_at))))) AS f;
  INSERT INTO public.governance_event_examined AS x (cluster, horizon) VALUES (v_here, v_horizon)
  ON CONFLICT (only_row) DO UPDATE SET cluster = excluded.cluster, horizon = excluded.horizon;
  IF v_found > 0 THEN
    PERFORM public.gov_finding_raise('direct_write'::text, 'event_outbox'::text, 'event_outbox has governance rows that gov_emit did not write as they are'::text,
                                     jsonb_build_object('found', v_found, 'samples', v_samples));
  ELSIF EXISTS (SELECT FROM public.governance_finding AS f WHERE f.coalesce_key = 'direct_write:event_outbox' AND f.is_open)
        AND NOT EXISTS (SELECT FROM public.v_event_foreign) THEN
    PERFORM public.gov_finding_clear('direct_write'::text, 'event_outbox'::text);
  END IF;
  RETURN v_found;
END
$$;
