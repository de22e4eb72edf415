-- Emit signals of objects that were handed off: of so many, or of one batch if that has more, the oldest first, in one call of
-- gov_untold_send or, if that is not all it takes, of gov_handoff_emit. One at a time for each source, or a later change of an object could overtake an earlier one; a caller that does not
-- wait leaves it to the other. Answers for how many signals were emitted.
CREATE OR REPLACE FUNCTION oneroof.gov_objects_emit(p_source text, p_most bigint, p_wait boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
  v_lock CONSTANT bigint := hashtextextended('oneroof.untold:' || p_source, 0);
  v_ids bigint[];
  v_many bigint;
  v_table text;
  d record;
BEGIN
  IF NOT EXISTS (SELECT FROM oneroof.governance_untold AS u WHERE u.source_name = p_source) THEN
    RETURN 0;
  END IF;
  IF p_wait THEN
    PERFORM pg_advisory_xact_lock(v_lock);
  ELSIF NOT pg_try_advisory_xact_lock(v_lock) THEN
    RETURN 0;
  END IF;
  SELECT array_agg(n.untold_id), sum(n.many) INTO v_ids, v_many
  FROM (SELECT u.untold_id, u.many, sum(u.many) OVER (ORDER BY u.untold_id) - u.many AS before
        FROM (SELECT o.untold_id, o.many FROM oneroof.governance_untold AS o
              WHERE o.source_name = p_source ORDER BY o.untold_id LIMIT 500) AS u) AS n
  WHERE n.before < p_most;
  v_table := (SELECT c.relname FROM oneroof.governance_source AS s JOIN pg_catalog.pg_class AS c ON c.oid = s.relation WHERE s.source_name = p_source);
  -- Of a source that is no more nothing can be addressed.
  IF v_table IS NOT NULL AND NOT oneroof.gov_untold_send(p_source, v_table, v_ids) THEN
    SELECT array_agg(u.kinds[e.place::integer]) AS kinds, array_agg(e.key) AS keys, array_agg(e.number) AS numbers, array_agg(e.ref) AS refs,
           array_agg(u.classes[e.place::integer]) AS classes, array_agg(u.groups[e.place::integer]) AS groups, array_agg(u.systems[e.place::integer]) AS systems,
           array_agg(u.actors[e.place::integer]) AS actors, array_agg(e.at) AS times
    INTO d
    FROM (SELECT o.* FROM oneroof.governance_untold AS o WHERE o.source_name = p_source AND o.untold_id = ANY (v_ids) ORDER BY o.untold_id) AS u
    CROSS JOIN LATERAL unnest(u.places, u.keys, u.numbers, u.refs, u.times) AS e (place, key, number, ref, at);
    PERFORM FROM oneroof.gov_handoff_emit(p_source, v_table, d.kinds, d.keys, d.numbers, d.refs, d.refs, d.classes, d.groups, d.systems,
                                         d.actors, d.times, NULL::bigint[]);
  END IF;
  DELETE FROM oneroof.governance_untold AS u WHERE u.source_name = p_source AND u.untold_id = ANY (v_ids);
  RETURN greatest(v_many, 1);
END
$$;
