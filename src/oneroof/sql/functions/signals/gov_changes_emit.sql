-- Emit the changes that a change log or a register has handed off: one signal for each kind and group, of all windows that are 'over', or of 'all'
-- that there are (doc 32 §5, steps 3 and 5); or, while more of the source is being read, which may be of the same windows, of those that
-- have been 'waiting' for it too long. A window that goes into a later one's signal is noted as told by it, so that reading it again
-- emits nothing. A group with too many signals waits for the end of its digest. Answers for how many windows signals were emitted.
CREATE OR REPLACE FUNCTION oneroof.gov_changes_emit(p_source text, p_which text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
DECLARE
  v_now CONSTANT timestamptz := oneroof.gov_now();
  v_table CONSTANT text := (SELECT c.relname FROM oneroof.governance_source AS s JOIN pg_catalog.pg_class AS c ON c.oid = s.relation
                            WHERE s.source_name = p_source);
  -- Until when a window must be over, and since when it must have been there.
  v_over CONSTANT timestamptz := CASE p_which WHEN 'all' THEN 'infinity'::timestamptz WHEN 'over' THEN v_now WHEN 'waiting' THEN v_now END;
  v_since CONSTANT timestamptz := CASE p_which WHEN 'waiting' THEN v_now - interval '10 seconds' ELSE 'infinity'::timestamptz END;
  v_rules oneroof.governance_worker_policy;
  v_told bigint;
  d record;
BEGIN
  IF NOT EXISTS (SELECT FROM oneroof.governance_handoff AS h
                 WHERE h.source_name = p_source AND h.changes > h.told AND h.window_end <= v_over AND h.untold_since <= v_since) THEN
    RETURN 0;
  END IF;
  SELECT * INTO v_rules FROM oneroof.governance_worker_policy AS p WHERE p.worker_name = 'gov_handoff_intake';
  WITH open AS MATERIALIZED (
    SELECT h.change_kind, h.group_key, h.window_start FROM oneroof.governance_handoff AS h
    WHERE h.source_name = p_source AND h.changes > h.told AND h.window_end <= v_over AND h.untold_since <= v_since FOR UPDATE
  ), frequent AS MATERIALIZED (
    SELECT h.change_kind, h.group_key FROM oneroof.governance_handoff AS h
    WHERE h.source_name = p_source AND h.parts > 0 AND h.told_at > v_now - v_rules.digest_interval
    GROUP BY 1, 2 HAVING sum(h.parts) >= v_rules.digest_after
  ), due AS MATERIALIZED (
    SELECT h.*, k.key, g.event_id IS NOT NULL AS was_told
    FROM oneroof.governance_handoff AS h
    JOIN open AS o ON o.change_kind = h.change_kind AND o.group_key = h.group_key AND o.window_start = h.window_start
    CROSS JOIN LATERAL (SELECT h.group_key || '@' || extract(epoch FROM h.window_start) AS key) AS k
    LEFT JOIN oneroof.governance_event AS g ON g.event_id = oneroof.gov_event_id(p_source, k.key, 1, 'governance.handoff.' || h.change_kind)
    WHERE h.source_name = p_source
  ), again AS MATERIALIZED (
    -- Told, forgotten and read again: it makes no signal, and counts in no signal and in no digest.
    SELECT e.change_kind, e.group_key, e.window_start, e.window_end FROM due AS e WHERE e.is_again AND e.parts = 0 AND e.was_told
  ), numbered AS MATERIALIZED (
    -- One that is new although its window was told and forgotten has a number that no other has.
    SELECT e.*, row_number() OVER w AS place, sum(e.changes - e.told) OVER (PARTITION BY e.change_kind, e.group_key) AS many,
           CASE WHEN e.parts = 0 AND e.was_told THEN (extract(epoch FROM v_now) * 1000000)::bigint ELSE e.parts + 1 END AS number
    FROM due AS e
    WHERE NOT (e.is_again AND e.parts = 0 AND e.was_told)
      AND NOT EXISTS (SELECT FROM frequent AS f WHERE f.change_kind = e.change_kind AND f.group_key = e.group_key)
    WINDOW w AS (PARTITION BY e.change_kind, e.group_key ORDER BY e.window_start DESC)
  ), merged AS (
    INSERT INTO oneroof.governance_event (event_id, event_type, state, noted_at)
    SELECT oneroof.gov_event_id(p_source, n.key, n.number, 'governance.handoff.' || n.change_kind), 'governance.handoff.' || n.change_kind, 'merged', v_now
    FROM numbered AS n WHERE n.place > 1 ORDER BY 1
    ON CONFLICT (event_id) DO NOTHING
  ), told AS (
    UPDATE oneroof.governance_handoff AS h SET told = h.changes, parts = h.parts + 1, told_at = n.at
    FROM (SELECT o.change_kind, o.group_key, o.window_start, v_now AS at FROM numbered AS o UNION ALL SELECT * FROM again) AS n
    WHERE h.source_name = p_source AND h.change_kind = n.change_kind AND h.group_key = n.group_key AND h.window_start = n.window_start
  )
  SELECT count(*) AS windows, a.* INTO d
  FROM numbered AS n CROSS JOIN (
    SELECT array_agg(f.change_kind) AS kinds, array_agg(f.key) AS keys, array_agg(f.number) AS numbers, array_agg(f.ref) AS refs,
           -- What all inherit is no class, and what names none has none: such a change is addressed by its table.
           array_agg(nullif(nullif(f.class, '*'), '')) AS classes, array_agg(f.group_key) AS groups,
           array_agg(f.source_system) AS systems, array_agg(f.actor_ref) AS actors, array_agg(f.occurred_at) AS times,
           array_agg(f.many::bigint) AS many
    FROM (SELECT * FROM numbered AS l WHERE l.place = 1 ORDER BY l.occurred_at, l.change_kind, l.group_key) AS f) AS a
  GROUP BY a.kinds, a.keys, a.numbers, a.refs, a.classes, a.groups, a.systems, a.actors, a.times, a.many;
  v_told := coalesce(d.windows, 0);
  IF v_told > 0 THEN
    PERFORM FROM oneroof.gov_handoff_emit(p_source, v_table, d.kinds, d.keys, d.numbers, d.refs, NULL::text[], d.classes, d.groups,
                                         d.systems, d.actors, d.times, d.many);
  END IF;
  -- Windows told long ago are forgotten; that they were told is not. Of an untrusted source all is kept until it is trusted.
  DELETE FROM oneroof.governance_handoff AS h
  WHERE h.ctid = ANY (ARRAY(SELECT o.ctid FROM oneroof.governance_handoff AS o
                            WHERE o.source_name = p_source AND o.changes = o.told AND o.told_at < v_now - interval '1 day'
                              AND EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = p_source AND s.trusted_at IS NOT NULL)
                            LIMIT 1000));
  RETURN v_told;
END
$$;
