-- The handoff of one source as signals governance.handoff.<kind> (doc 41 §41.5), given as arrays with a place in each for every object: a
-- signal is made here, of addresses, refs and counts and of nothing else, so that only what is missing or too long is left to refuse.
-- Who did it and in which system travels with it (doc 32 §7), and how many changes it stands for where they were coalesced.
CREATE OR REPLACE FUNCTION oneroof.gov_handoff_emit(
  p_source text, p_table text, p_kinds text[], p_keys text[], p_numbers bigint[], p_refs text[], p_addresses text[], p_classes text[],
  p_groups text[], p_systems text[], p_actors text[], p_occurred timestamptz[], p_changes bigint[]
) RETURNS TABLE (emitted bigint, held bigint, refused bigint, known bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET enable_nestloop = off
SET jit = off
-- As in gov_emit_checked.
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  given CONSTANT integer := coalesce(greatest(cardinality(p_kinds), cardinality(p_keys), cardinality(p_numbers), cardinality(p_refs)), 0);
  most CONSTANT record := oneroof.gov_signal_limits();
  -- Where nothing has to be escaped, nothing is: looked for once in all there is.
  plain CONSTANT boolean := concat(p_source, array_to_string(p_classes, ''), array_to_string(p_groups, ''),
                                   array_to_string(p_systems, ''), array_to_string(p_actors, '')) !~ '["\\[:cntrl:]]';
  v_types text[];
  v_addresses text[];
  v_groups text[] := p_groups;
  v_payloads text[];
  v_faults text[];
  v_told jsonb;
BEGIN
  v_addresses := ARRAY(
    SELECT coalesce(p_addresses[n], CASE WHEN starts_with(p_refs[n], p_classes[n] || ':') THEN p_refs[n]
                                         ELSE coalesce(p_classes[n], p_table) || ':' || p_refs[n] END)
    FROM generate_series(1, given) AS n ORDER BY n);
  IF EXISTS (SELECT FROM unnest(p_groups) AS g WHERE length(g) >= most.of_value) THEN
    -- A long group is its beginning and a digest, and then longer than any that is itself.
    v_groups := ARRAY(
      SELECT CASE WHEN length(p_groups[n]) >= most.of_value
                  THEN left(p_groups[n], most.of_value - 65) || ':' || encode(sha256(convert_to(left(p_groups[n], 20000000), 'UTF8')), 'hex')
                  ELSE p_groups[n] END
      FROM generate_series(1, given) AS n ORDER BY n);
  END IF;
  v_payloads := ARRAY(
    SELECT CASE
      WHEN plain THEN
        oneroof.gov_handoff_payload(p_source, p_changes[n], p_actors[n], v_groups[n], p_kinds[n], p_classes[n], p_occurred[n], p_numbers[n], p_systems[n])
      ELSE
        oneroof.gov_handoff_payload(left(substr(to_json(p_source)::text, 2), -1), p_changes[n], left(substr(to_json(p_actors[n])::text, 2), -1),
          left(substr(to_json(v_groups[n])::text, 2), -1), p_kinds[n], left(substr(to_json(p_classes[n])::text, 2), -1), p_occurred[n],
          p_numbers[n], left(substr(to_json(p_systems[n])::text, 2), -1))
      END
    FROM generate_series(1, given) AS n ORDER BY n);
  WITH kinds AS MATERIALIZED (
    SELECT k.kind, 'governance.handoff.' || k.kind AS event_type,
           CASE WHEN k.kind !~ '^[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*)*$' OR length(k.kind) > 181 THEN 'event_type: no type of the governance domain'
                WHEN p_source IS NULL OR length(p_source) > most.of_value THEN format('source: missing, or longer than %s characters', most.of_value)
                WHEN p_table IS NULL OR length(p_table) > most.of_table THEN 'subject: missing, or longer than an address'
                WHEN t.subject_table <> p_table THEN 'subject_table: not the table that such events are about'
                WHEN NOT oneroof.gov_handoff_keys() <@ t.payload_keys THEN 'payload: not the keys of such events' END AS fault
    FROM (SELECT DISTINCT e FROM unnest(p_kinds) AS e) AS k (kind)
    LEFT JOIN oneroof.governance_event_type AS t ON t.event_type = 'governance.handoff.' || k.kind
    WHERE k.kind IS NOT NULL
  )
  SELECT array_agg(CASE WHEN m.fault IS NULL THEN m.event_type END), array_agg(m.fault), count(m.fault)
  INTO v_types, v_faults, refused
  FROM (
    SELECT k.event_type,
           CASE WHEN k.kind IS NULL THEN 'event_type: no type of the governance domain'
                WHEN k.fault IS NOT NULL THEN k.fault
                WHEN p_keys[n] IS NULL OR p_numbers[n] IS NULL THEN 'source: without source, key or change number'
                WHEN p_refs[n] IS NULL OR octet_length(p_refs[n]) > most.of_ref OR octet_length(v_addresses[n]) > most.of_address
                  THEN 'subject: missing, or longer than an address'
                WHEN length(p_classes[n]) > most.of_value THEN format('collection_name: longer than %s characters', most.of_value)
                WHEN length(p_systems[n]) > most.of_value THEN format('source_system: longer than %s characters', most.of_value)
                WHEN length(p_actors[n]) > most.of_value THEN format('actor_ref: longer than %s characters', most.of_value)
                WHEN p_occurred[n] IN ('infinity', '-infinity') THEN 'occurred_at: no moment'
                WHEN octet_length(v_payloads[n]) > most.of_payload THEN format('payload: larger than %s bytes', most.of_payload) END AS fault
    FROM generate_series(1, given) AS n LEFT JOIN kinds AS k ON k.kind = p_kinds[n] ORDER BY n
  ) AS m;
  IF refused > 0 THEN
    v_payloads := ARRAY(SELECT CASE WHEN v_faults[n] IS NULL THEN v_payloads[n] END FROM generate_series(1, given) AS n ORDER BY n);
    v_told := (
      SELECT jsonb_agg(jsonb_build_object('event_type', b.name, 'faults', b.faults) ORDER BY b.name)
      FROM (SELECT CASE WHEN v_faults[n] LIKE 'event_type:%' THEN '(no type)' ELSE 'governance.handoff.' || p_kinds[n] END AS name,
                   to_jsonb((array_agg(DISTINCT v_faults[n]))[1:5]) AS faults
            FROM generate_series(1, given) AS n WHERE v_faults[n] IS NOT NULL GROUP BY 1) AS b);
    PERFORM oneroof.gov_faults_raise(v_told);
  END IF;
  SELECT c.emitted, c.held, c.known INTO emitted, held, known
  FROM oneroof.gov_emit_checked(
    v_types, array_fill(p_source, ARRAY[given]), p_keys, p_numbers, array_fill(p_table, ARRAY[given]), p_refs, v_addresses,
    v_payloads::jsonb[], ARRAY(SELECT coalesce(p_occurred[n], at) FROM generate_series(1, given) AS n ORDER BY n),
    NULL::text[], NULL::text[]) AS c;
  RETURN NEXT;
END
$$;
