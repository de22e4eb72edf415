-- The only way into event_outbox (doc 41 §41.4 to §41.6): a batch of events, as a jsonb array of objects with event_type, source,
-- source_key, change_number, subject_table, subject_ref, payload, and where they are known canonical_address, occurred_at, severity
-- and correlation_id. An event of an active type is emitted; one of any other type is held in event_pending; both once, whoever
-- repeats it. A payload that is more than addresses, refs and counts is refused and becomes a finding, which names the type and the key.
CREATE OR REPLACE FUNCTION public.gov_emit(p_events jsonb) RETURNS TABLE (emitted bigint, held bigint, refused bigint, known bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- Of what is in a batch the planner guesses far too little, and would compare each of it with each.
SET enable_nestloop = off
SET jit = off
AS $$
DECLARE
  at CONSTANT timestamptz := public.gov_now();
  parts CONSTANT text[] := '{event_type,source,source_key,change_number,subject_table,subject_ref,payload,payload_classification,canonical_address,occurred_at,severity,correlation_id}';
  v_batch bigint;
  v_active text[];
  v_open boolean;
  v_lively text[];
  v_faults jsonb;
  v_unready text[];
BEGIN
  IF jsonb_typeof(p_events) IS DISTINCT FROM 'array' THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'events are an array of objects';
  END IF;
  v_batch := nextval('public.governance_event_batch');
  v_active := public.gov_events_active(ARRAY(SELECT DISTINCT e.value ->> 'event_type' FROM jsonb_array_elements(p_events) AS e
                                             WHERE e.value ->> 'event_type' IS NOT NULL));
  v_open := v_active <> '{}' OR public.gov_gate_is_open('governance.emit_enabled'::text);
  v_lively := ARRAY(SELECT t.event_type FROM public.v_event_type AS t WHERE t.is_active);

  WITH types AS MATERIALIZED (
    SELECT t.* FROM public.v_event_type AS t
  ), anything AS MATERIALIZED (
    -- Of a type that is in no vocabulary nothing is known: it may have any key that some type may have, and is never emitted.
    SELECT array_agg(DISTINCT k) AS keys FROM types AS t CROSS JOIN LATERAL unnest(t.payload_keys) AS k
  ), given AS MATERIALIZED (
    SELECT e.place, e.event, x.event_type, x.source, x.source_key, x.change_number, x.subject_ref, x.severity, x.correlation_id,
           coalesce(x.subject_table, t.subject_table) AS subject_table, coalesce(x.payload, '{}') AS payload,
           coalesce(x.payload_classification, 'safe_metadata') AS classification, coalesce(x.occurred_at, at) AS occurred_at,
           coalesce(x.canonical_address,
             CASE WHEN x.payload ->> 'collection_name' IS NULL THEN coalesce(x.subject_table, t.subject_table) || ':' || x.subject_ref
                  WHEN starts_with(x.subject_ref, (x.payload ->> 'collection_name') || ':') THEN x.subject_ref
                  ELSE (x.payload ->> 'collection_name') || ':' || x.subject_ref END) AS canonical_address,
           t.event_type AS known_type, t.subject_table AS expected_table, t.event_stream, t.delivery_lane, t.default_severity,
           coalesce(t.payload_keys, a.keys) AS payload_keys
    FROM (SELECT n.place, CASE jsonb_typeof(n.value) WHEN 'object' THEN n.value ELSE '{}' END AS event
          FROM jsonb_array_elements(p_events) WITH ORDINALITY AS n (value, place)) AS e
    CROSS JOIN LATERAL jsonb_to_record(e.event) AS x (event_type text, source text, source_key text, change_number bigint,
      subject_table text, subject_ref text, payload jsonb, payload_classification text, canonical_address text,
      occurred_at timestamptz, severity text, correlation_id text)
    CROSS JOIN anything AS a
    LEFT JOIN types AS t ON t.event_type = x.event_type
  ), checked AS MATERIALIZED (
    SELECT g.place, g.event_type, g.known_type, g.source, g.source_key, g.change_number, g.subject_table, g.subject_ref, g.canonical_address,
           g.payload, g.severity, g.correlation_id, g.occurred_at, g.event_stream, g.delivery_lane, g.default_severity,
           CASE
             WHEN g.event_type IS NULL OR g.event_type !~ '^governance([.][a-z][a-z0-9_]*){2,}$' OR length(g.event_type) > 200
               THEN 'event_type: no type of the governance domain'
             WHEN g.event - parts <> '{}'
               THEN (SELECT min(left(k, 63)) FROM jsonb_object_keys(g.event - parts) AS k) || ': no part of an event'
             WHEN g.source IS NULL OR g.source_key IS NULL OR g.change_number IS NULL THEN 'source: without source, key or change number'
             WHEN g.subject_table IS NULL OR g.subject_ref IS NULL OR length(g.subject_table) > 63 OR octet_length(g.subject_ref) > 2000
               OR octet_length(g.canonical_address) > 4000 THEN 'subject: missing, or longer than an address'
             WHEN g.subject_table <> g.expected_table THEN 'subject_table: not the table that such events are about'
             WHEN g.severity NOT IN ('info', 'low', 'medium', 'high', 'critical') THEN 'severity: no severity'
             WHEN length(g.correlation_id) > 256 OR length(g.source) > 256 THEN 'correlation_id: longer than 256 characters'
             WHEN g.classification <> 'safe_metadata' THEN 'payload_classification: not safe_metadata'
             WHEN jsonb_typeof(g.payload) <> 'object' THEN 'payload: not an object'
             WHEN f.fault IS NOT NULL THEN f.fault
             WHEN octet_length(g.payload::text) > 2048 THEN 'payload: larger than 2048 bytes'
           END AS fault
    FROM given AS g
    LEFT JOIN LATERAL (
      SELECT left(k.key, 63) || CASE WHEN k.key <> ALL (g.payload_keys) THEN ': not a key of such events'
                                     WHEN jsonb_typeof(k.value) IN ('object', 'array') THEN ': not a single value'
                                     ELSE ': longer than 256 characters' END AS fault
      FROM jsonb_each(CASE jsonb_typeof(g.payload) WHEN 'object' THEN g.payload ELSE '{}' END) AS k
      WHERE k.key <> ALL (g.payload_keys) OR jsonb_typeof(k.value) IN ('object', 'array') OR length(k.value #>> '{}') > 256
      ORDER BY k.key LIMIT 1
    ) AS f ON true
  ), wanted AS MATERIALIZED (
    SELECT DISTINCT ON (i.event_id) i.event_id, s.subject, c.*,
           CASE WHEN c.event_type <> ALL (v_active) AND c.known_type IS NULL THEN 'not in the vocabulary'
                WHEN c.event_type <> ALL (v_active) AND v_open THEN 'not active'
                WHEN c.event_type <> ALL (v_active) THEN 'the gate governance.emit_enabled is closed'
                -- Nothing overtakes what is about to be promoted. It is looked up by its subject, never by its type.
                WHEN EXISTS (SELECT FROM public.governance_event AS h
                             WHERE h.state = 'held' AND h.subject = s.subject AND h.event_type || '' = ANY (v_lively)) THEN 'earlier ones of the same subject are held' END AS reason
    FROM checked AS c
    CROSS JOIN LATERAL (SELECT public.gov_event_id(c.source, c.source_key, c.change_number, c.event_type) AS event_id) AS i
    CROSS JOIN LATERAL (SELECT public.gov_key_mark(c.subject_table || ':' || c.subject_ref) AS subject) AS s
    WHERE c.fault IS NULL
    ORDER BY i.event_id, c.place
  ), noted AS MATERIALIZED (
    -- In the order of their ids, so that two who emit the same at once wait for each other and not both.
    INSERT INTO public.governance_event
      (event_id, event_type, state, content_sha256, held_batch, held_place, subject, event, noted_at, emitted_at)
    SELECT w.event_id, w.event_type, CASE WHEN w.reason IS NULL THEN 'emitted' ELSE 'held' END,
           CASE WHEN w.reason IS NULL
                THEN public.gov_event_digest('governance'::text, w.event_type, w.subject_table, w.subject_ref, w.canonical_address,
                                             'oneroof'::text, 'safe_metadata'::text, w.payload, w.occurred_at) END,
           h.batch, h.place, h.subject, h.event, at, CASE WHEN w.reason IS NULL THEN at END
    FROM wanted AS w
    LEFT JOIN LATERAL (
      SELECT v_batch AS batch, w.place, w.subject,
             jsonb_build_object('subject_table', w.subject_table, 'subject_ref', w.subject_ref, 'canonical_address', w.canonical_address,
                                'payload', w.payload, 'severity', w.severity, 'correlation_id', w.correlation_id,
                                'occurred_at', w.occurred_at) AS event
    ) AS h ON w.reason IS NOT NULL
    ORDER BY w.event_id
    ON CONFLICT (event_id) DO NOTHING
    RETURNING event_id
  ), fresh AS MATERIALIZED (
    SELECT w.* FROM wanted AS w JOIN noted AS n ON n.event_id = w.event_id
  ), sent AS (
    INSERT INTO public.event_outbox
      (id, event_domain, event_type, event_stream, delivery_lane, event_severity, event_subject_table, event_subject_ref,
       canonical_address, actor_ref, source_system, correlation_id, payload_classification, safe_payload, occurred_at, created_at)
    SELECT f.event_id, 'governance', f.event_type, f.event_stream, f.delivery_lane, coalesce(f.severity, f.default_severity),
           f.subject_table, f.subject_ref, f.canonical_address, 'oneroof', 'oneroof', f.correlation_id, 'safe_metadata', f.payload,
           f.occurred_at, at + f.place * interval '1 microsecond'
    FROM fresh AS f WHERE f.reason IS NULL ORDER BY f.place
  ), kept AS (
    INSERT INTO public.event_pending
      (event_domain, event_type_hint, entity_table, entity_ref, canonical_address, actor_ref, capture_payload, error_count)
    SELECT 'governance', f.event_type, f.subject_table, f.subject_ref, f.canonical_address, 'oneroof',
           jsonb_build_object('event_id', f.event_id, 'state', 'held', 'reason', f.reason, 'source', f.source,
                              'source_key', public.gov_key_mark(f.source_key), 'change_number', f.change_number,
                              'occurred_at', f.occurred_at, 'payload', f.payload), 0
    FROM fresh AS f WHERE f.reason IS NOT NULL ORDER BY f.place
  )
  SELECT (SELECT count(*) FROM fresh AS f WHERE f.reason IS NULL), (SELECT count(*) FROM fresh AS f WHERE f.reason IS NOT NULL),
         count(*) FILTER (WHERE c.fault IS NOT NULL),
         count(*) FILTER (WHERE c.fault IS NULL) - (SELECT count(*) FROM fresh),
         (SELECT jsonb_agg(jsonb_build_object('event_type', b.name, 'faults', b.faults) ORDER BY b.name)
          FROM (SELECT CASE WHEN d.fault LIKE 'event_type:%' THEN '(no type)' ELSE d.event_type END AS name,
                       to_jsonb((array_agg(DISTINCT d.fault))[1:5]) AS faults
                FROM checked AS d WHERE d.fault IS NOT NULL GROUP BY 1) AS b),
         (SELECT array_agg(DISTINCT f.event_type ORDER BY f.event_type) FROM fresh AS f WHERE f.reason IN ('not in the vocabulary', 'not active'))
  INTO emitted, held, refused, known, v_faults, v_unready
  FROM checked AS c;

  IF v_faults IS NOT NULL THEN
    PERFORM public.gov_finding_raise(
      'input_invalid_schema'::text, ('gov_emit:' || (b ->> 'event_type'))::text,
      format('an event %s is not a signal: %s', b ->> 'event_type', b -> 'faults' ->> 0)::text, b)
    FROM jsonb_array_elements(v_faults) AS b;
  END IF;
  IF v_unready IS NOT NULL THEN
    PERFORM public.gov_finding_raise(
      CASE WHEN starts_with(u, 'governance.handoff.') THEN 'handoff_unregistered_type' ELSE 'issue_event_gap' END::text,
      ('gov_emit:' || u)::text, format('signals of type %s are held: it is not registered and active', u)::text,
      jsonb_build_object('event_type', u))
    FROM unnest(v_unready) AS u;
  END IF;
  RETURN NEXT;
END
$$;
