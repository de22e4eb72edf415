-- The vocabulary as it is shipped, applied whole with the functions. The host's registry is not touched: `oneroof events register`
-- does that. What an earlier installation emitted is known, so that none of it is emitted again.
CREATE OR REPLACE FUNCTION oneroof.gov_events_plant(p_types jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO oneroof.governance_event_type AS t
    (event_type, family, event_stream, delivery_lane, default_severity, owner_hint, subject_table, payload_keys, description)
  SELECT n.event_type, n.family, n.event_stream, n.delivery_lane, n.default_severity, n.owner_hint, n.subject_table, n.payload_keys,
         n.description
  FROM jsonb_populate_recordset(NULL::oneroof.governance_event_type, p_types) AS n
  ON CONFLICT (event_type) DO UPDATE
  SET family = excluded.family, event_stream = excluded.event_stream, delivery_lane = excluded.delivery_lane,
      default_severity = excluded.default_severity, owner_hint = excluded.owner_hint, subject_table = excluded.subject_table,
      payload_keys = excluded.payload_keys, description = excluded.description
  WHERE (t.*) IS DISTINCT FROM (excluded.*);
  IF NOT EXISTS (SELECT FROM oneroof.governance_event) THEN
    INSERT INTO oneroof.governance_event (event_id, event_type, state, noted_at, emitted_at)
    SELECT o.id, min(o.event_type), 'adopted', oneroof.gov_now(), min(o.created_at)
    FROM host.event_outbox AS o WHERE o.event_domain = 'governance' AND o.source_system = 'oneroof' AND o.id IS NOT NULL
    GROUP BY o.id;
  END IF;
END
$$;
