-- Emit some of what is held and may now be emitted, of one type or of any, in the order in which it was held: each once, since the
-- key, the outbox and the hold move in one statement. Of one type what has something of another before it, of the same subject, stays. Answers how many left the hold; nought when there is no more. Every call is a
-- transaction of its own: a promotion that is killed between two goes on with the next. Where the host's outbox refuses one of many it is an error; one that
-- it refuses alone is marked stuck, raised as a finding, and tried again when some minutes have passed.
CREATE OR REPLACE FUNCTION oneroof.gov_events_promote(p_type text, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- What is in a list is compared by a hash only where the planner sees the list.
SET plan_cache_mode = force_custom_plan
SET enable_nestloop = off
-- Of what is held it would rather read all, and sort that, than what it needs.
SET enable_seqscan = off
SET enable_sort = off
SET jit = off
SET work_mem = '32MB'
AS $$
DECLARE
  at timestamptz;
  v_active text[];
  v_lively text[];
  v_ids uuid[];
  v_refused uuid[];
  v_moved bigint;
  v_faults jsonb;
  v_type text;
BEGIN
  -- One at a time, or a later event of a subject could overtake an earlier one.
  PERFORM pg_advisory_xact_lock(hashtextextended('oneroof.events.promote', 0));
  -- The moment is read when the lock is had.
  at := oneroof.gov_now();
  UPDATE oneroof.governance_event AS e SET state = 'held'
  WHERE e.state = 'stuck' AND e.tried_at < at - interval '5 minutes' AND (p_type IS NULL OR e.event_type = p_type);
  v_lively := oneroof.gov_events_promotable();
  v_active := oneroof.gov_events_active(ARRAY(SELECT t FROM unnest(v_lively) AS t WHERE p_type IS NULL OR t = p_type));
  IF v_active = '{}' THEN
    RETURN 0;
  END IF;
  v_ids := ARRAY(
    SELECT h.event_id FROM unnest(v_active) AS t (event_type)
    CROSS JOIN LATERAL (SELECT e.event_id, e.held_batch, e.held_place FROM oneroof.governance_event AS e
                        WHERE e.state = 'held' AND e.event_type = t.event_type AND (p_type IS NULL OR NOT EXISTS (
                          SELECT FROM oneroof.governance_event AS o
                          WHERE o.state = 'held' AND o.subject = e.subject AND o.event_type <> p_type AND o.event_type = ANY (v_lively)
                            AND (o.held_batch, o.held_place) < (e.held_batch, e.held_place)))
                        ORDER BY e.held_batch, e.held_place LIMIT p_most) AS h
    ORDER BY h.held_batch, h.held_place LIMIT p_most);
  BEGIN
    WITH types AS MATERIALIZED (
      SELECT t.event_type, t.event_stream, t.delivery_lane, t.default_severity, t.subject_table, t.payload_keys FROM oneroof.v_event_type AS t
      WHERE t.event_type = ANY (v_active)
    ), picked AS MATERIALIZED (
      SELECT h.event_id, h.event_type, t.event_stream, t.delivery_lane, coalesce(h.severity, t.default_severity) AS severity, h.subject_table,
             h.subject_ref, h.canonical_address, h.payload, h.correlation_id, h.occurred_at,
             row_number() OVER (ORDER BY h.held_batch, h.held_place) AS place,
             -- Held while its type was in no vocabulary, and so by other rules than it now has.
             CASE WHEN h.subject_table <> t.subject_table THEN 'subject_table: not the table that such events are about'
                  WHEN h.payload - t.payload_keys <> '{}'
                  THEN (SELECT min(left(k, 63)) FROM jsonb_object_keys(h.payload - t.payload_keys) AS k) || ': not a key of such events' END AS fault
      FROM oneroof.governance_event AS h
      JOIN types AS t ON t.event_type = h.event_type
      WHERE h.event_id = ANY (v_ids)
    ), moved AS (
      UPDATE oneroof.governance_event AS g
      SET state = CASE WHEN p.fault IS NULL THEN 'emitted' ELSE 'refused' END, held_batch = NULL, held_place = NULL,
          subject = NULL, subject_table = NULL, subject_ref = NULL, canonical_address = NULL, payload = NULL, severity = NULL,
          correlation_id = NULL, occurred_at = NULL, emitted_at = CASE WHEN p.fault IS NULL THEN at END,
          content_sha256 = CASE WHEN p.fault IS NULL
            THEN oneroof.gov_event_digest(p.subject_table, p.subject_ref, p.canonical_address, p.payload::text, p.occurred_at) END
      FROM picked AS p WHERE g.event_id = p.event_id AND g.event_id = ANY (v_ids)
    ), sent AS (
      INSERT INTO host.event_outbox
        (id, event_domain, event_type, event_stream, delivery_lane, event_severity, event_subject_table, event_subject_ref,
         canonical_address, actor_ref, source_system, correlation_id, payload_classification, safe_payload, occurred_at, created_at)
      SELECT p.event_id, 'governance', p.event_type, p.event_stream, p.delivery_lane, p.severity,
             p.subject_table, p.subject_ref, p.canonical_address, 'oneroof', 'oneroof', p.correlation_id, 'safe_metadata', p.payload,
             p.occurred_at, at + p.place * interval '1 microsecond'
      FROM picked AS p WHERE p.fault IS NULL ORDER BY p.place
      ON CONFLICT DO NOTHING
    )
    SELECT count(*), coalesce(array_agg(p.event_id) FILTER (WHERE p.fault IS NOT NULL), '{}'),
           (SELECT jsonb_agg(f.b ORDER BY f.b ->> 'event_type')
            FROM (SELECT jsonb_build_object('event_type', q.event_type,
                                            'faults', to_jsonb((array_agg(DISTINCT q.fault))[1:5])) AS b
                  FROM picked AS q WHERE q.fault IS NOT NULL GROUP BY q.event_type) AS f)
    INTO v_moved, v_refused, v_faults FROM picked AS p;
  EXCEPTION WHEN integrity_constraint_violation OR data_exception OR program_limit_exceeded OR raise_exception THEN
    -- A caller that asked for many asks for fewer; one that the host's outbox refuses alone stays for a while (doc 41 §41.9).
    IF cardinality(v_ids) > 1 THEN
      RAISE;
    END IF;
    UPDATE oneroof.governance_event AS g SET state = 'stuck', tried_at = at WHERE g.event_id = v_ids[1] RETURNING g.event_type INTO v_type;
    UPDATE host.event_pending AS e
    SET error_count = e.error_count + 1, last_error = left(SQLERRM, 500), capture_payload = e.capture_payload || '{"state": "stuck"}'
    WHERE e.processed_at IS NULL AND e.actor_ref = 'oneroof' AND e.event_domain = 'governance' AND e.event_type_hint = v_type
      AND e.capture_payload ->> 'event_id' = v_ids[1]::text;
    PERFORM oneroof.gov_finding_raise('signal_refused'::text, ('event_outbox:' || v_type)::text,
      format('event_outbox refuses signals of type %s: %s', v_type, left(SQLERRM, 200))::text,
      jsonb_build_object('event_type', v_type, 'sqlstate', SQLSTATE));
    RETURN 1;
  END;
  -- The host's rows have no key of ours but in their content: one read of the table.
  UPDATE host.event_pending AS e
  SET processed_at = at,
      capture_payload = e.capture_payload || jsonb_build_object('state',
        CASE WHEN v_refused <> '{}' AND e.capture_payload ->> 'event_id' = ANY (v_refused::text[]) THEN 'refused' ELSE 'promoted' END)
  WHERE e.processed_at IS NULL AND e.actor_ref = 'oneroof' AND e.event_domain = 'governance' AND e.event_type_hint = ANY (v_active)
    AND e.capture_payload ->> 'event_id' = ANY (v_ids::text[]);
  IF v_faults IS NOT NULL THEN
    PERFORM oneroof.gov_faults_raise(v_faults);
  END IF;
  RETURN v_moved;
END
$$;
