-- Keep a snapshot of a source (doc 31 §5): a row of evolution_snapshots with what has changed in which group since the one before, and
-- its place in a list of our own. One that says the same as the one before is that one. Answers its number.
CREATE OR REPLACE FUNCTION oneroof.gov_snapshot_take(p_source text, p_scope text, p_metrics jsonb) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  v_now CONSTANT timestamptz := oneroof.gov_now();
  v_digest CONSTANT text := md5(coalesce(p_metrics -> 'groups', p_metrics)::text);
  v_before oneroof.governance_snapshot;
  v_groups jsonb;
  v_delta jsonb;
  v_id bigint;
  v_ref bigint;
BEGIN
  SELECT s.* INTO v_before FROM oneroof.governance_snapshot AS s
  WHERE s.source_name = p_source AND s.scope = p_scope ORDER BY s.snapshot_ref DESC LIMIT 1;
  IF v_before.digest = v_digest THEN
    RETURN v_before.snapshot_ref;
  END IF;
  IF v_before.snapshot_ref IS NOT NULL THEN
    SELECT e.metrics -> 'groups' INTO v_groups FROM host.evolution_snapshots AS e WHERE e.id = v_before.snapshot_id LIMIT 1;
    SELECT jsonb_build_object('snapshot_ref', v_before.snapshot_ref, 'groups',
                              coalesce(jsonb_object_agg(coalesce(o.key, n.key), jsonb_build_array(o.value, n.value)), '{}'))
    INTO v_delta
    FROM jsonb_each(coalesce(v_groups, '{}')) AS o FULL JOIN jsonb_each(coalesce(p_metrics -> 'groups', '{}')) AS n ON n.key = o.key
    WHERE o.value IS DISTINCT FROM n.value AND v_groups IS NOT NULL;
  END IF;
  INSERT INTO host.evolution_snapshots (snapshot_at, scope, metrics, delta_previous, notes)
  VALUES (v_now, p_scope, p_metrics || jsonb_build_object('source', p_source), v_delta, 'oneroof: ' || p_source)
  RETURNING id INTO v_id;
  INSERT INTO oneroof.governance_snapshot (source_name, scope, taken_at, digest, snapshot_id)
  VALUES (p_source, p_scope, v_now, v_digest, v_id)
  RETURNING snapshot_ref INTO v_ref;
  RETURN v_ref;
END
$$;
