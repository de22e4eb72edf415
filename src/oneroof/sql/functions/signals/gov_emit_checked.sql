-- What gov_emit and gov_handoff_emit do with events that are fit to be signals, given as arrays with a place in each for every event; a
-- place without a type is passed over. Of an active type: emitted; of any other: held in event_pending, and a finding for each type, which
-- the gate has no part in (doc 32 §5, step 5); both once, however often repeated.
CREATE OR REPLACE FUNCTION oneroof.gov_emit_checked(
  p_types text[], p_sources text[], p_keys text[], p_numbers bigint[], p_tables text[], p_refs text[], p_addresses text[],
  p_payloads jsonb[], p_occurred timestamptz[], p_severities text[], p_correlations text[]
) RETURNS TABLE (emitted bigint, held bigint, known bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- Of what is in a batch the planner guesses far too little, and would compare each of it with each.
SET enable_nestloop = off
-- Of what is held it would rather read all than what it needs.
SET enable_seqscan = off
SET jit = off
SET work_mem = '32MB'
-- The place of an array is found at once where it is a variable, and by counting from its beginning where it is part of a plan.
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  at timestamptz;
  types CONSTANT text[] := ARRAY(SELECT DISTINCT t FROM unnest(p_types) AS t WHERE t IS NOT NULL);
  given CONSTANT integer := coalesce(cardinality(p_types), 0);
  v_batch bigint;
  v_active text[];
  v_asleep text[] := '{}';
  v_lively text[] := '{}';
  v_untrusted text[];
  v_reasons text[];
  v_ids uuid[];
  v_before uuid[];
  is_refused boolean := false;
BEGIN
  emitted := 0;
  held := 0;
  known := 0;
  IF types = '{}' THEN
    RETURN NEXT;
    RETURN;
  END IF;
  -- Of these nothing is said until two people trust them (doc 32 §7).
  v_untrusted := oneroof.gov_sources_untrusted(p_sources);
  IF v_untrusted <> '{}' THEN
    -- A session that trusts one at this moment waits until the events that we keep can be seen.
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('oneroof.source.trust', 0));
    v_untrusted := oneroof.gov_sources_untrusted(p_sources);
  END IF;
  v_batch := nextval('oneroof.governance_event_batch');
  v_active := oneroof.gov_events_active(types);
  -- Not before the locks are ours: nothing that was promoted while we waited is later than what we emit.
  at := oneroof.gov_now();
  IF v_active <> '{}' THEN
    v_lively := oneroof.gov_events_promotable();
  END IF;
  IF NOT types <@ v_active THEN
    -- Whatever the gate says.
    v_asleep := ARRAY(SELECT n FROM unnest(types) AS n
                      WHERE NOT EXISTS (SELECT FROM oneroof.v_event_type AS t WHERE t.event_type = n AND t.is_active));
  END IF;
  IF v_lively <> '{}' OR NOT types <@ v_active OR v_untrusted <> '{}' THEN
    v_reasons := ARRAY(
      SELECT CASE WHEN e.source = ANY (v_untrusted) THEN 'the source is not trusted'
                  WHEN t.reason IS NOT NULL THEN t.reason
                  -- Nothing overtakes what is about to be promoted. It is looked up by its subject, never by its type.
                  WHEN v_lively <> '{}' AND EXISTS (
                    SELECT FROM oneroof.governance_event AS h
                    WHERE h.state = 'held' AND h.subject = oneroof.gov_key_mark(e.subject_table || ':' || e.subject_ref)
                      AND h.event_type || '' = ANY (v_lively)) THEN 'earlier ones of the same subject are held' END
      FROM unnest(p_types, p_tables, p_refs, p_sources) WITH ORDINALITY AS e (event_type, subject_table, subject_ref, source, place)
      LEFT JOIN (SELECT n.event_type, CASE WHEN n.event_type = ANY (v_active) THEN NULL
                                           WHEN k.event_type IS NULL THEN 'not in the vocabulary'
                                           WHEN n.event_type = ANY (v_asleep) THEN 'not active'
                                           ELSE 'the gate governance.emit_enabled is closed' END AS reason
                 FROM unnest(types) AS n (event_type)
                 LEFT JOIN oneroof.governance_event_type AS k ON k.event_type = n.event_type) AS t ON t.event_type = e.event_type
      ORDER BY e.place);
  END IF;
  v_ids := ARRAY(SELECT oneroof.gov_event_id(p_sources[n], p_keys[n], p_numbers[n], p_types[n]) FROM generate_series(1, given) AS n ORDER BY n);
  known := (SELECT count(i) FROM unnest(v_ids) AS i);
  LOOP
    BEGIN
      -- In the order of their ids, so that two who emit the same at once wait for each other and not both.
      INSERT INTO oneroof.governance_event
        (event_id, event_type, state, source, content_sha256, held_batch, held_place, subject, subject_table, subject_ref, canonical_address,
         payload, severity, correlation_id, occurred_at, noted_at, emitted_at)
      SELECT e.event_id, e.event_type, CASE WHEN e.reason IS NULL THEN 'emitted' WHEN e.reason = 'the source is not trusted' THEN 'untrusted' ELSE 'held' END,
             CASE WHEN e.reason = 'the source is not trusted' THEN p_sources[e.place] END,
             CASE WHEN e.reason IS NULL
                  THEN oneroof.gov_event_digest(e.subject_table, e.subject_ref, e.canonical_address, e.payload::text, e.occurred_at) END,
             CASE WHEN e.reason IS NOT NULL THEN v_batch END, CASE WHEN e.reason IS NOT NULL THEN e.place END,
             CASE WHEN e.reason IS NOT NULL THEN oneroof.gov_key_mark(e.subject_table || ':' || e.subject_ref) END,
             CASE WHEN e.reason IS NOT NULL THEN e.subject_table END, CASE WHEN e.reason IS NOT NULL THEN e.subject_ref END,
             CASE WHEN e.reason IS NOT NULL THEN e.canonical_address END, CASE WHEN e.reason IS NOT NULL THEN e.payload END,
             CASE WHEN e.reason IS NOT NULL THEN p_severities[e.place] END,
             CASE WHEN e.reason IS NOT NULL THEN p_correlations[e.place] END, CASE WHEN e.reason IS NOT NULL THEN e.occurred_at END,
             at, CASE WHEN e.reason IS NULL THEN at END
      FROM (SELECT v_ids[n] AS event_id, p_types[n] AS event_type, p_tables[n] AS subject_table, p_refs[n] AS subject_ref,
                   p_addresses[n] AS canonical_address, p_payloads[n] AS payload, p_occurred[n] AS occurred_at, v_reasons[n] AS reason,
                   n AS place FROM generate_series(1, given) AS n) AS e
      WHERE e.event_id IS NOT NULL ORDER BY e.event_id;
      IF v_active <> '{}' THEN
        WITH lanes AS MATERIALIZED (
          SELECT t.event_type, t.event_stream, t.delivery_lane, t.default_severity FROM oneroof.v_event_type AS t
          WHERE t.event_type = ANY (v_active)
        )
        INSERT INTO host.event_outbox
          (id, event_domain, event_type, event_stream, delivery_lane, event_severity, event_subject_table, event_subject_ref,
           canonical_address, actor_ref, source_system, correlation_id, payload_classification, safe_payload, occurred_at, created_at)
        SELECT e.event_id, 'governance', e.event_type, t.event_stream, t.delivery_lane, coalesce(e.severity, t.default_severity),
               e.subject_table, e.subject_ref, e.canonical_address, 'oneroof', 'oneroof', e.correlation_id, 'safe_metadata', e.payload,
               e.occurred_at, at + e.place * interval '1 microsecond'
        FROM (SELECT v_ids[n] AS event_id, p_types[n] AS event_type, p_tables[n] AS subject_table, p_refs[n] AS subject_ref,
                     p_addresses[n] AS canonical_address, p_payloads[n] AS payload, p_occurred[n] AS occurred_at,
                     p_severities[n] AS severity, p_correlations[n] AS correlation_id, v_reasons[n] AS reason, n AS place
              FROM generate_series(1, given) AS n) AS e
        JOIN lanes AS t ON t.event_type = e.event_type
        WHERE e.event_id IS NOT NULL AND e.reason IS NULL
        -- One that is there although governance_event does not know it stays as it is.
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS emitted = ROW_COUNT;
      END IF;
      EXIT;
    EXCEPTION WHEN unique_violation THEN
      -- Some are known, or are there twice: without those.
      v_before := v_ids;
      v_ids := ARRAY(SELECT CASE WHEN c.copy = 1 AND NOT EXISTS (SELECT FROM oneroof.governance_event AS g WHERE g.event_id = c.event_id)
                                 THEN c.event_id END
                     FROM (SELECT e.event_id, e.place, row_number() OVER (PARTITION BY e.event_id ORDER BY e.place) AS copy
                           FROM unnest(v_ids) WITH ORDINALITY AS e (event_id, place)) AS c
                     ORDER BY c.place);
      IF v_ids = v_before THEN
        RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE = 'the same events were emitted at the same time';
      END IF;
    WHEN integrity_constraint_violation OR data_exception OR program_limit_exceeded OR raise_exception THEN
      -- What the host's outbox refuses stays with us (doc 41 §41.9). Which of them that is, the promotion finds out.
      IF is_refused THEN
        RAISE;
      END IF;
      is_refused := true;
      v_reasons := ARRAY(SELECT coalesce(v_reasons[n], 'event_outbox refuses it or another of its batch') FROM generate_series(1, given) AS n ORDER BY n);
    END;
  END LOOP;
  IF v_reasons IS NOT NULL THEN
    INSERT INTO host.event_pending
      (event_domain, event_type_hint, entity_table, entity_ref, canonical_address, actor_ref, capture_payload, error_count)
    SELECT 'governance', e.event_type, e.subject_table, e.subject_ref, e.canonical_address, 'oneroof',
           -- What it says is in governance_event; here is which it is.
           ('{"event_id": "' || e.event_id || '", "state": "held", "reason": "' || e.reason || '", "change_number": ' || e.change_number || '}')::jsonb, 0
    FROM (SELECT v_ids[n] AS event_id, p_types[n] AS event_type, p_tables[n] AS subject_table, p_refs[n] AS subject_ref,
                 p_addresses[n] AS canonical_address, v_reasons[n] AS reason, p_numbers[n] AS change_number, n AS place
          FROM generate_series(1, given) AS n) AS e
    WHERE e.event_id IS NOT NULL AND e.reason IS NOT NULL ORDER BY e.place;
    GET DIAGNOSTICS held = ROW_COUNT;
    PERFORM oneroof.gov_source_flag(u.source)
    FROM (SELECT DISTINCT e.source FROM unnest(v_ids, p_sources) AS e (event_id, source)
          WHERE e.event_id IS NOT NULL AND e.source = ANY (v_untrusted) ORDER BY e.source) AS u;
    -- In the order in which the watch closes them.
    PERFORM oneroof.gov_finding_raise(
      u.issue_type, ('gov_emit:' || u.event_type)::text, format('signals of type %s are held: it is not registered and active', u.event_type)::text,
      jsonb_build_object('event_type', u.event_type))
    FROM (SELECT DISTINCT CASE WHEN starts_with(e.event_type, 'governance.handoff.') THEN 'handoff_unregistered_type' ELSE 'issue_event_gap' END AS issue_type,
                 e.event_type
          FROM unnest(v_ids, p_types) AS e (event_id, event_type)
          WHERE e.event_id IS NOT NULL AND e.event_type = ANY (v_asleep) ORDER BY 1, 2) AS u;
  END IF;
  known := known - emitted - held;
  RETURN NEXT;
END
$$;
