-- Tell of all objects of some batches by one statement, if that is all it takes: every kind may be emitted, nothing that is held comes
-- before them, nothing has to be refused, escaped or shortened, and none is known. Answers whether it did; if not, nothing was done.
CREATE OR REPLACE FUNCTION oneroof.gov_untold_send(p_source text, p_table text, p_ids bigint[]) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
-- Of what is in a batch the planner guesses far too little, and would compare each of it with each.
SET enable_nestloop = off
SET jit = off
SET work_mem = '32MB'
AS $$
DECLARE
  -- Of what is near them gov_handoff_emit has to say whether it fits.
  most CONSTANT record := oneroof.gov_signal_limits();
  v_kinds text[];
  v_types text[];
  v_at timestamptz;
BEGIN
  IF NOT EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = p_source AND s.trusted_at IS NOT NULL)
     OR length(p_source) > most.of_value OR length(p_table) > most.of_table OR p_source ~ '["\\[:cntrl:]]' THEN
    RETURN false;
  END IF;
  IF EXISTS (
       SELECT FROM oneroof.governance_untold AS u
       CROSS JOIN LATERAL unnest(u.kinds, u.classes, u.groups, u.systems, u.actors) AS k (kind, class, group_key, system, actor)
       WHERE u.source_name = p_source AND u.untold_id = ANY (p_ids)
         AND (k.kind IS NULL OR greatest(length(k.class), length(k.group_key), length(k.system), length(k.actor)) >= most.of_value
              OR octet_length(concat(p_source, k.kind, k.class, k.class, k.group_key, k.system, k.actor)) > most.of_payload - 500
              OR concat(k.class, k.group_key, k.system, k.actor) ~ '["\\[:cntrl:]]'))
     OR EXISTS (
       SELECT FROM oneroof.governance_untold AS u CROSS JOIN LATERAL unnest(u.keys, u.numbers, u.refs, u.times) AS e (key, number, ref, at)
       WHERE u.source_name = p_source AND u.untold_id = ANY (p_ids)
         AND (e.key IS NULL OR e.number IS NULL OR e.ref IS NULL OR octet_length(e.ref) > most.of_ref
              OR e.at IN ('infinity', '-infinity'))) THEN
    RETURN false;
  END IF;
  v_kinds := ARRAY(SELECT DISTINCT k FROM oneroof.governance_untold AS u CROSS JOIN LATERAL unnest(u.kinds) AS k
                   WHERE u.source_name = p_source AND u.untold_id = ANY (p_ids));
  v_types := ARRAY(SELECT t.event_type FROM oneroof.governance_event_type AS t
                   WHERE t.event_type = ANY (SELECT 'governance.handoff.' || k FROM unnest(v_kinds) AS k)
                     AND coalesce(t.subject_table, p_table) = p_table AND t.payload_keys @> oneroof.gov_handoff_keys());
  IF cardinality(v_types) < cardinality(v_kinds) OR NOT v_types <@ oneroof.gov_events_active(v_types)
     OR oneroof.gov_events_promotable() <> '{}' THEN
    RETURN false;
  END IF;
  -- Not before the locks are ours: nothing that was promoted while we waited is later than what we emit.
  v_at := oneroof.gov_now();
  WITH types AS MATERIALIZED (
    SELECT t.event_type, t.event_stream, t.delivery_lane, t.default_severity FROM oneroof.v_event_type AS t WHERE t.event_type = ANY (v_types)
  ), picked AS MATERIALIZED (
    SELECT u.* FROM oneroof.governance_untold AS u WHERE u.source_name = p_source AND u.untold_id = ANY (p_ids) ORDER BY u.untold_id
  ), kinds AS MATERIALIZED (
    SELECT p.untold_id, k.*, t.event_type, t.event_stream, t.delivery_lane, t.default_severity
    FROM picked AS p
    CROSS JOIN LATERAL unnest(p.kinds, p.classes, p.groups, p.systems, p.actors) WITH ORDINALITY AS k (kind, class, group_key, system, actor, place)
    JOIN types AS t ON t.event_type = 'governance.handoff.' || k.kind
  ), made AS MATERIALIZED (
    SELECT oneroof.gov_event_id(p_source, e.key, e.number, k.event_type) AS event_id, k.event_type, k.event_stream, k.delivery_lane,
           k.default_severity, e.ref, e.turn, coalesce(e.at, v_at) AS occurred_at,
           oneroof.gov_handoff_payload(p_source, NULL, k.actor, k.group_key, k.kind, k.class, e.at, e.number, k.system) AS payload
    FROM (SELECT p.untold_id, n.*, row_number() OVER () AS turn
          FROM picked AS p CROSS JOIN LATERAL unnest(p.places, p.keys, p.numbers, p.refs, p.times) AS n (place, key, number, ref, at)) AS e
    JOIN kinds AS k ON k.untold_id = e.untold_id AND k.place = e.place
  ), sent AS (
    INSERT INTO host.event_outbox
      (id, event_domain, event_type, event_stream, delivery_lane, event_severity, event_subject_table, event_subject_ref,
       canonical_address, actor_ref, source_system, payload_classification, safe_payload, occurred_at, created_at)
    SELECT m.event_id, 'governance', m.event_type, m.event_stream, m.delivery_lane, m.default_severity, p_table, m.ref, m.ref, 'oneroof',
           'oneroof', 'safe_metadata', m.payload::jsonb, m.occurred_at, v_at + m.turn * interval '1 microsecond'
    FROM made AS m
  )
  -- This comes first, and where one is known there is no other. In the order of their ids, so that two who emit the same at once wait
  -- for each other and not both.
  INSERT INTO oneroof.governance_event (event_id, event_type, state, content_sha256, noted_at, emitted_at)
  SELECT m.event_id, m.event_type, 'emitted', oneroof.gov_event_digest(p_table, m.ref, m.ref, m.payload, m.occurred_at), v_at, v_at
  FROM made AS m ORDER BY m.event_id;
  RETURN true;
EXCEPTION WHEN integrity_constraint_violation OR data_exception OR program_limit_exceeded OR raise_exception THEN
  -- One is known, or the host's outbox refuses it.
  RETURN false;
END
$$;
