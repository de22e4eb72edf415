-- The way into event_outbox (doc 41 §41.4 to §41.6): a batch of events, as a jsonb array of objects with event_type, source,
-- source_key, change_number, subject_table, subject_ref, payload, and where they are known canonical_address, occurred_at, severity
-- and correlation_id. An event of an active type is emitted; one of any other type is held in event_pending; both once, however
-- often repeated. A payload that is more than addresses, refs and counts is refused and becomes a finding, which names the type and the key; so is
-- what cannot be read, and the rest of the batch goes its way.
CREATE OR REPLACE FUNCTION oneroof.gov_emit(p_events jsonb) RETURNS TABLE (emitted bigint, held bigint, refused bigint, known bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO, YMD'
-- Of what is in a batch the planner guesses far too little, and would compare each of it with each.
SET enable_nestloop = off
SET jit = off
SET work_mem = '32MB'
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  parts CONSTANT text[] := '{event_type,source,source_key,change_number,subject_table,subject_ref,payload,payload_classification,canonical_address,occurred_at,severity,correlation_id}';
  v_types text[];
  v_sources text[];
  v_keys text[];
  v_numbers bigint[];
  v_tables text[];
  v_refs text[];
  v_addresses text[];
  v_payloads jsonb[];
  v_occurred timestamptz[];
  v_severities text[];
  v_correlations text[];
  v_faults jsonb;
  is_doubtful boolean := false;
  most CONSTANT record := oneroof.gov_signal_limits();
BEGIN
  IF jsonb_typeof(p_events) IS DISTINCT FROM 'array' THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'events are an array of objects';
  END IF;
  LOOP
    BEGIN
      WITH types AS MATERIALIZED (
        SELECT t.event_type, t.subject_table, t.payload_keys FROM oneroof.governance_event_type AS t
      ), anything AS MATERIALIZED (
        -- Of a type that is in no vocabulary nothing is known: it may have any key that some type may have, and is never emitted.
        SELECT array_agg(DISTINCT k) AS keys FROM types AS t CROSS JOIN LATERAL unnest(t.payload_keys) AS k
      ), given AS MATERIALIZED (
        SELECT e.place, e.event, x.event_type, x.source, x.source_key, x.subject_ref, x.severity, x.correlation_id, x.change_number AS number_text,
               CASE WHEN is_doubtful THEN oneroof.gov_number(x.change_number) ELSE x.change_number::bigint END AS change_number,
               x.occurred_at AS moment_text,
               CASE WHEN is_doubtful THEN oneroof.gov_moment(x.occurred_at) ELSE x.occurred_at::timestamptz END AS moment,
               coalesce(x.subject_table, t.subject_table) AS subject_table, coalesce(x.payload, '{}') AS payload,
               coalesce(x.payload_classification, 'safe_metadata') AS classification, x.canonical_address AS address_text, coalesce(x.canonical_address,
                 CASE WHEN x.payload ->> 'collection_name' IS NULL THEN coalesce(x.subject_table, t.subject_table) || ':' || x.subject_ref
                      WHEN starts_with(x.subject_ref, (x.payload ->> 'collection_name') || ':') THEN x.subject_ref
                      ELSE (x.payload ->> 'collection_name') || ':' || x.subject_ref END) AS canonical_address,
               t.subject_table AS expected_table, coalesce(t.payload_keys, a.keys) AS payload_keys
        FROM (SELECT n.place, CASE jsonb_typeof(n.value) WHEN 'object' THEN n.value ELSE '{}' END AS event
              FROM jsonb_array_elements(p_events) WITH ORDINALITY AS n (value, place)) AS e
        CROSS JOIN LATERAL jsonb_to_record(e.event) AS x (event_type text, source text, source_key text, change_number text,
          subject_table text, subject_ref text, payload jsonb, payload_classification text, canonical_address text,
          occurred_at text, severity text, correlation_id text)
        CROSS JOIN anything AS a
        LEFT JOIN types AS t ON t.event_type = x.event_type
      ), checked AS MATERIALIZED (
        SELECT g.place, g.event_type, g.source, g.source_key, g.change_number, g.subject_table, g.subject_ref, g.canonical_address,
               g.payload, g.severity, g.correlation_id, coalesce(g.moment, at) AS occurred_at,
               CASE
                 WHEN g.event_type IS NULL OR length(g.event_type) > 200 OR g.event_type !~ '^governance([.][a-z][a-z0-9_]*){2,}$'
                   THEN 'event_type: no type of the governance domain'
                 WHEN g.event - parts <> '{}'
                   THEN (SELECT min(left(k, 63)) FROM jsonb_object_keys(g.event - parts) AS k) || ': no part of an event'
                 -- An object or an array is read as its text, which begins like this.
                 WHEN ascii(g.source) IN (91, 123) AND jsonb_typeof(g.event -> 'source') <> 'string' THEN 'source: not a single value'
                 WHEN ascii(g.source_key) IN (91, 123) AND jsonb_typeof(g.event -> 'source_key') <> 'string' THEN 'source_key: not a single value'
                 WHEN ascii(g.subject_table) IN (91, 123) AND jsonb_typeof(g.event -> 'subject_table') <> 'string' THEN 'subject_table: not a single value'
                 WHEN ascii(g.subject_ref) IN (91, 123) AND jsonb_typeof(g.event -> 'subject_ref') <> 'string' THEN 'subject_ref: not a single value'
                 WHEN ascii(g.address_text) IN (91, 123) AND jsonb_typeof(g.event -> 'canonical_address') <> 'string' THEN 'canonical_address: not a single value'
                 WHEN ascii(g.correlation_id) IN (91, 123) AND jsonb_typeof(g.event -> 'correlation_id') <> 'string' THEN 'correlation_id: not a single value'
                 -- Written as the number is, so that every PostgreSQL reads the same.
                 WHEN g.number_text IS DISTINCT FROM g.change_number::text THEN 'change_number: no whole number, or none that fits'
                 WHEN g.moment_text IS NOT NULL AND (ascii(g.moment_text) NOT BETWEEN 48 AND 57 OR isfinite(g.moment) IS NOT TRUE) THEN 'occurred_at: no moment'
                 WHEN g.source IS NULL OR g.source_key IS NULL OR g.change_number IS NULL THEN 'source: without source, key or change number'
                 WHEN g.subject_table IS NULL OR g.subject_ref IS NULL OR length(g.subject_table) > most.of_table OR octet_length(g.subject_ref) > most.of_ref
                   OR octet_length(g.canonical_address) > most.of_address THEN 'subject: missing, or longer than an address'
                 WHEN g.subject_table <> g.expected_table THEN 'subject_table: not the table that such events are about'
                 WHEN g.severity NOT IN ('info', 'low', 'medium', 'high', 'critical') THEN 'severity: no severity'
                 WHEN length(g.correlation_id) > most.of_value THEN format('correlation_id: longer than %s characters', most.of_value)
                 WHEN length(g.source) > most.of_value THEN format('source: longer than %s characters', most.of_value)
                 WHEN g.classification <> 'safe_metadata' THEN 'payload_classification: not safe_metadata'
                 WHEN jsonb_typeof(g.payload) <> 'object' THEN 'payload: not an object'
                 WHEN f.fault IS NOT NULL THEN f.fault
                 WHEN octet_length(g.payload::text) > most.of_payload THEN format('payload: larger than %s bytes', most.of_payload)
               END AS fault
        FROM given AS g
        LEFT JOIN LATERAL (
          SELECT left(k.key, 63) || CASE WHEN k.key <> ALL (g.payload_keys) THEN ': not a key of such events'
                                         WHEN jsonb_typeof(k.value) IN ('object', 'array') THEN ': not a single value'
                                         ELSE format(': longer than %s characters', most.of_value) END AS fault
          FROM jsonb_each(CASE jsonb_typeof(g.payload) WHEN 'object' THEN g.payload ELSE '{}' END) AS k
          WHERE k.key <> ALL (g.payload_keys) OR jsonb_typeof(k.value) IN ('object', 'array') OR length(k.value #>> '{}') > most.of_value
          ORDER BY k.key LIMIT 1
        ) AS f ON true
      )
      SELECT array_agg(CASE WHEN c.fault IS NULL THEN c.event_type END), array_agg(c.source), array_agg(c.source_key),
             array_agg(c.change_number), array_agg(c.subject_table), array_agg(c.subject_ref), array_agg(c.canonical_address),
             array_agg(c.payload), array_agg(c.occurred_at), array_agg(c.severity), array_agg(c.correlation_id), count(c.fault),
             (SELECT jsonb_agg(jsonb_build_object('event_type', b.name, 'faults', b.faults) ORDER BY b.name)
              FROM (SELECT CASE WHEN d.fault = 'event_type: no type of the governance domain' THEN '(no type)' ELSE d.event_type END AS name,
                           to_jsonb((array_agg(DISTINCT d.fault))[1:5]) AS faults
                    FROM checked AS d WHERE d.fault IS NOT NULL GROUP BY 1) AS b)
      INTO v_types, v_sources, v_keys, v_numbers, v_tables, v_refs, v_addresses, v_payloads, v_occurred, v_severities, v_correlations,
           refused, v_faults
      FROM (SELECT * FROM checked ORDER BY place) AS c;
      EXIT;
    EXCEPTION WHEN data_exception THEN
      -- One that cannot be read would stop all: each by itself then.
      IF is_doubtful THEN
        RAISE;
      END IF;
      is_doubtful := true;
    END;
  END LOOP;

  SELECT c.emitted, c.held, c.known INTO emitted, held, known
  FROM oneroof.gov_emit_checked(v_types, v_sources, v_keys, v_numbers, v_tables, v_refs, v_addresses, v_payloads, v_occurred, v_severities,
                               v_correlations) AS c;
  IF v_faults IS NOT NULL THEN
    PERFORM oneroof.gov_faults_raise(v_faults);
  END IF;
  RETURN NEXT;
END
$$;
