-- Take changes of a change log or a register (doc 32 §5, steps 2 to 4): each is of the first kind whose predicate it meets, the class
-- it is about is marked once, and what is to be told of it is added to its window, the latest change of which names it. One that is
-- read again adds only windows that are not there; it marks like any other, which does no harm, and is part of no storm. A change that no
-- kind fits is no handoff. p_rows are objects with row, class, ref, system, actor, born, many, at, start and ends. Answers how many groups
-- were marked, by how many changes; of what is read again, how many windows were missing.
CREATE OR REPLACE FUNCTION oneroof.gov_changes_take(p_source text, p_again boolean, p_rows jsonb) RETURNS TABLE (marked bigint, changes bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
DECLARE
  v_now CONSTANT timestamptz := oneroof.gov_now();
  v_trusted boolean;
  v_rules oneroof.governance_worker_policy;
  v_known bigint;
  v_added bigint;
  v_most bigint;
  v_group text;
BEGIN
  IF p_rows IS NULL THEN
    RETURN;
  END IF;
  v_trusted := oneroof.gov_sources_untrusted(ARRAY[p_source]) = '{}';
  IF NOT v_trusted THEN
    -- As in gov_emit_checked.
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('oneroof.source.trust', 0));
    v_trusted := oneroof.gov_sources_untrusted(ARRAY[p_source]) = '{}';
  END IF;
  SELECT * INTO v_rules FROM oneroof.governance_worker_policy AS p WHERE p.worker_name = 'gov_handoff_intake';
  WITH given AS MATERIALIZED (
    SELECT x.* FROM jsonb_to_recordset(p_rows) AS x ("row" jsonb, class text, ref text, system text, actor text, born boolean, many bigint,
                                                     at timestamptz, start timestamptz, ends timestamptz)
  ), kinds AS MATERIALIZED (
    SELECT d."row", d.born, k.change_kind, k.dirties, k.dimensions
    FROM (SELECT DISTINCT g."row", g.born FROM given AS g) AS d
    CROSS JOIN LATERAL (
      SELECT m.change_kind, m.dirties, m.dimensions FROM oneroof.governance_handoff_map AS m
      WHERE m.source_name = p_source AND (m.on_change = 'any' OR (m.on_change = 'birth') = d.born)
        AND (m.predicate IS NULL OR coalesce(jsonb_path_match(d."row", m.predicate, '{}', true), false))
      ORDER BY m.priority LIMIT 1
    ) AS k
  ), codes AS MATERIALIZED (
    -- What a collection is called, by its code.
    SELECT DISTINCT ON (c.code::text COLLATE "default") c.code::text COLLATE "default" AS code, c.collection_name::text COLLATE "default" AS name
    FROM host.collection_registry AS c WHERE c.collection_name IS NOT NULL ORDER BY c.code::text COLLATE "default", c.collection_name::text COLLATE "default"
  ), meant AS MATERIALIZED (
    SELECT g.*, k.change_kind, k.dimensions,
           CASE k.dirties WHEN 'all' THEN '*' WHEN 'collection' THEN coalesce(c.name, g.ref, '') ELSE coalesce(g.class, '') END AS subject
    FROM given AS g JOIN kinds AS k ON k."row" = g."row" AND k.born = g.born
    LEFT JOIN codes AS c ON c.code = g.ref AND k.dirties = 'collection'
  ), named AS MATERIALIZED (
    SELECT m.*, n.group_key FROM meant AS m
    JOIN (SELECT d."row", d.dimensions, d.subject,
                 coalesce((SELECT string_agg(e.key || '=' || coalesce(CASE e.value WHEN '@source' THEN p_source WHEN '@class' THEN d.subject
                                                                                   ELSE d."row" ->> e.value END, ''), '/' ORDER BY e.key)
                           FROM jsonb_each_text(d.dimensions) AS e), '') AS group_key
          FROM (SELECT DISTINCT m."row", m.dimensions, m.subject FROM meant AS m) AS d) AS n
      ON n."row" = m."row" AND n.dimensions = m.dimensions AND n.subject = m.subject
  ), windows AS (
    INSERT INTO oneroof.governance_handoff AS h
      (source_name, change_kind, group_key, window_start, window_end, class, changes, is_again, occurred_at, ref, source_system, actor_ref,
       untold_since)
    SELECT DISTINCT ON (n.change_kind, n.group_key, n.start) p_source, n.change_kind, n.group_key, n.start, n.ends, n.subject,
           sum(n.many) OVER (PARTITION BY n.change_kind, n.group_key, n.start), p_again, n.at, coalesce(n.ref, ''), n.system, n.actor,
           v_now
    FROM named AS n WHERE n.start IS NOT NULL
    -- One that cannot be an address comes first, so that it is refused whichever of them would name the window.
    ORDER BY n.change_kind, n.group_key, n.start, coalesce(octet_length(n.ref) > 2000, false) DESC, n.at DESC, n.ref DESC
    ON CONFLICT (source_name, change_kind, group_key, window_start) DO UPDATE
    SET changes = h.changes + excluded.changes, occurred_at = greatest(h.occurred_at, excluded.occurred_at),
        ref = CASE WHEN excluded.occurred_at >= h.occurred_at THEN excluded.ref ELSE h.ref END,
        source_system = CASE WHEN excluded.occurred_at >= h.occurred_at THEN excluded.source_system ELSE h.source_system END,
        actor_ref = CASE WHEN excluded.occurred_at >= h.occurred_at THEN excluded.actor_ref ELSE h.actor_ref END, is_again = false,
        untold_since = CASE WHEN h.changes > h.told THEN h.untold_since ELSE excluded.untold_since END
    WHERE NOT p_again
    RETURNING 1
  ), marks AS (
    -- Of an untrusted source the windows are kept, and nothing is marked until it is trusted (doc 32 §7).
    INSERT INTO oneroof.governance_group_mark AS k (class, dirty_reason, dirtied_at, occurred_at, changes, burst, burst_at)
    SELECT DISTINCT ON (n.subject) n.subject, n.change_kind, v_now, n.at, sum(n.many) OVER w, CASE WHEN p_again THEN 0 ELSE sum(n.many) OVER w END,
           date_trunc('minute', v_now)
    FROM named AS n WHERE v_trusted WINDOW w AS (PARTITION BY n.subject) ORDER BY n.subject, n.at DESC
    ON CONFLICT (class) DO UPDATE
    SET dirty = true, dirty_reason = CASE WHEN excluded.occurred_at >= k.occurred_at OR NOT k.dirty THEN excluded.dirty_reason ELSE k.dirty_reason END,
        dirtied_at = excluded.dirtied_at, occurred_at = CASE WHEN k.dirty THEN greatest(k.occurred_at, excluded.occurred_at) ELSE excluded.occurred_at END,
        changes = CASE WHEN k.dirty THEN k.changes ELSE 0 END + excluded.changes,
        burst = CASE WHEN k.burst_at = excluded.burst_at THEN k.burst ELSE 0 END + excluded.burst, burst_at = excluded.burst_at
    RETURNING k.class, k.burst
  )
  SELECT count(*), count(*) FILTER (WHERE EXISTS (SELECT FROM oneroof.governance_class AS c WHERE c.class = k.class)), max(k.burst),
         (array_agg(k.class ORDER BY k.burst DESC))[1], (SELECT count(*) FROM windows), (SELECT sum(n.many) FROM named AS n)
  INTO marked, v_known, v_most, v_group, v_added, changes FROM marks AS k;
  IF NOT v_trusted THEN
    PERFORM oneroof.gov_source_flag(p_source);
  END IF;
  -- One tick that dirties most of what there is (doc 39 §39.7): marks that add up because no scan takes them are none, and a handful is none.
  IF NOT p_again AND (v_most > v_rules.storm_changes OR (
       v_known >= 10 AND v_known > v_rules.storm_share * (SELECT count(DISTINCT c.class) FROM oneroof.governance_class AS c))) THEN
    PERFORM oneroof.gov_finding_raise('group_invalidation_storm'::text, ('gov_handoff_intake:' || p_source)::text,
      CASE WHEN v_most > v_rules.storm_changes THEN format('more than %s changes of %s in a minute', v_rules.storm_changes, left(v_group, 200))
           ELSE format('more than %s %% of all groups were dirtied at once', round((v_rules.storm_share * 100)::numeric)) END::text,
      jsonb_build_object('source', p_source, 'storm_changes', v_rules.storm_changes, 'storm_share', v_rules.storm_share));
  END IF;
  IF p_again THEN
    marked := v_added;
    changes := v_added;
  END IF;
  RETURN NEXT;
END
$$;
