-- Judge some of the objects of which something of their own is known and that are dirty. Their candidates are dirtied with them. One
-- whose row has unknown facts waits for them, unless it has no row. A batch that applies a row gives it the verdict of its facts if it
-- sees no such object; an object that came meanwhile is judged once more when that batch is finished.
CREATE OR REPLACE FUNCTION oneroof.gov_objects_judge(p_source text, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
SET timezone = 'UTC'
SET jit = off
AS $$
DECLARE
  v_wanted text[];
  v_keys text[];
  v_facts jsonb[];
  v_hashes bigint[];
  v_later xid;
  v_version CONSTANT text := oneroof.gov_ruleset_active();
BEGIN
  -- Of most estates nothing is known of single objects; then they need not be looked for among the candidates.
  IF NOT EXISTS (SELECT FROM oneroof.governance_object) THEN
    RETURN 0;
  END IF;
  -- As in gov_scan_spread.
  BEGIN
    WITH fresh AS MATERIALIZED (
      SELECT o.candidate_key FROM oneroof.governance_object AS o
      WHERE NOT o.is_settled AND o.settles_until IS NULL AND o.xmin <> pg_current_xact_id()::xid
      LIMIT p_most FOR UPDATE SKIP LOCKED
    ), noted AS (
      UPDATE oneroof.governance_object AS o SET settles_until = '0'::xid8 FROM fresh AS f WHERE o.candidate_key = f.candidate_key
      RETURNING o.xmin
    )
    SELECT n.xmin INTO v_later FROM noted AS n LIMIT 1;
  EXCEPTION WHEN assert_failure THEN
    RAISE;
  END;
  IF v_later IS NOT NULL THEN
    UPDATE oneroof.governance_object AS o SET settles_until = oneroof.gov_xid_later(v_later) WHERE NOT o.is_settled AND o.settles_until = '0'::xid8;
  END IF;
  WITH ripe AS MATERIALIZED (
    SELECT o.candidate_key FROM oneroof.governance_object AS o
    WHERE NOT o.is_settled AND o.settles_until < pg_snapshot_xmin(pg_current_snapshot())
    LIMIT p_most FOR UPDATE SKIP LOCKED
  )
  UPDATE oneroof.governance_object AS o
  SET is_settled = true,
      is_dirty = o.is_dirty OR EXISTS (
        SELECT FROM oneroof.governance_candidate_state AS c
        WHERE c.candidate_key = o.candidate_key AND NOT c.dirty
          AND (c.facts_hash, c.verdict, c.undecided_reason, c.input_quality_state)
              IS DISTINCT FROM (o.judged_hash, o.verdict, o.undecided_reason, o.input_state))
  FROM ripe AS r WHERE o.candidate_key = r.candidate_key;
  v_wanted := ARRAY(
    SELECT d.candidate_key FROM oneroof.governance_object AS d
    WHERE d.is_dirty
      AND (SELECT c.source_name FROM oneroof.governance_candidate_state AS c WHERE c.candidate_key = d.candidate_key) = p_source
    LIMIT p_most)
    -- Its row has changed since.
    || ARRAY(
    SELECT d.candidate_key FROM oneroof.governance_candidate_state AS d
    WHERE d.source_name = p_source AND d.dirty
      AND EXISTS (SELECT FROM oneroof.governance_object AS j
                  WHERE j.candidate_key = d.candidate_key AND j.judged_hash IS DISTINCT FROM d.facts_hash)
    LIMIT p_most);
  IF v_wanted = '{}' THEN
    RETURN 0;
  END IF;
  SELECT array_agg(p.candidate_key ORDER BY p.candidate_key),
         array_agg(oneroof.gov_facts_of(p_source, coalesce(f.class, ''::text), coalesce(f.grain, 'governed'::text), coalesce(f.row_facts, '{}'::jsonb),
                                           k.facts, p.facts) ORDER BY p.candidate_key),
         array_agg(p.facts_hash ORDER BY p.candidate_key)
  INTO v_keys, v_facts, v_hashes
  FROM (SELECT o.candidate_key, o.facts, c.facts_hash
        FROM oneroof.governance_object AS o
        JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key AND c.source_name = p_source
        WHERE o.candidate_key = ANY (v_wanted) AND c.candidate_key = ANY (v_wanted)
          -- Only a row that is not there may be judged without its facts.
          AND (o.facts @> '{"state": {"gone": true}}' OR o.facts @> '{"state": {"vanished": true}}'
               OR EXISTS (SELECT FROM oneroof.governance_fact_set AS k WHERE k.source_name = p_source AND k.facts_hash = c.facts_hash))
        LIMIT p_most FOR UPDATE OF o SKIP LOCKED) AS p
  LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = p_source AND f.facts_hash = p.facts_hash
  LEFT JOIN oneroof.governance_class AS k ON k.source_name = p_source AND k.class = f.class;
  IF v_keys IS NULL THEN
    RETURN 0;
  END IF;
  UPDATE oneroof.governance_object AS o
  SET verdict = e.verdict, undecided_reason = e.undecided_reason, rule_code = e.rule_code, input_state = e.input_state,
      input_rule = e.input_rule, finding_types = e.finding_types, stale_after = e.stale_after, ruleset_version = v_version,
      judged_at = oneroof.gov_now(), judged_hash = v_hashes[e.ordinal], is_dirty = false
  FROM oneroof.gov_rules_evaluate(v_facts, v_version) AS e
  WHERE o.candidate_key = v_keys[e.ordinal];
  UPDATE oneroof.governance_candidate_state AS c
  SET dirty = true, dirty_reason = coalesce(c.dirty_reason, 'object_judged'), dirtied_at = oneroof.gov_now()
  FROM oneroof.governance_object AS o
  WHERE o.candidate_key = ANY (v_keys) AND c.candidate_key = o.candidate_key AND NOT c.dirty
    AND ((c.verdict, c.undecided_reason, c.input_quality_state) IS DISTINCT FROM (o.verdict, o.undecided_reason, o.input_state)
         OR NOT oneroof.gov_expiry_holds(c.stale_after, c.scan_time, o.stale_after));
  RETURN cardinality(v_keys);
END
$$;
