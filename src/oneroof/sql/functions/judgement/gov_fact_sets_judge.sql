-- Judge some fact sets that are dirty, all at once, under the active ruleset. One that is judged otherwise than before has members
-- who must hear of it, and is spreading from now on. Answers how many were judged.
CREATE OR REPLACE FUNCTION oneroof.gov_fact_sets_judge(p_source text, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
  v_hashes bigint[];
  v_facts jsonb[];
  v_version CONSTANT text := oneroof.gov_ruleset_active();
BEGIN
  SELECT array_agg(p.facts_hash ORDER BY p.facts_hash),
         array_agg(oneroof.gov_facts_of(p_source, p.class, p.grain, p.row_facts, c.facts, NULL::jsonb) ORDER BY p.facts_hash)
  INTO v_hashes, v_facts
  FROM (SELECT f.facts_hash, f.class, f.grain, f.row_facts FROM oneroof.governance_fact_set AS f
        WHERE f.source_name = p_source AND f.is_dirty LIMIT p_most FOR UPDATE SKIP LOCKED) AS p
  JOIN oneroof.governance_class AS c ON c.source_name = p_source AND c.class = p.class;
  IF v_hashes IS NULL THEN
    RETURN 0;
  END IF;
  UPDATE oneroof.governance_fact_set AS f
  SET verdict = e.verdict, undecided_reason = e.undecided_reason, rule_code = e.rule_code, input_state = e.input_state,
      input_rule = e.input_rule, finding_types = e.finding_types, stale_after = e.stale_after, ruleset_version = v_version,
      judged_at = oneroof.gov_now(), is_dirty = false,
      is_spreading = f.is_spreading OR (f.judged_at IS NOT NULL
        AND (f.verdict, f.undecided_reason, f.input_state, f.stale_after) IS DISTINCT FROM (e.verdict, e.undecided_reason, e.input_state, e.stale_after)),
      is_heard = false, spreads_until = NULL
  FROM oneroof.gov_rules_evaluate(v_facts, v_version) AS e
  WHERE f.source_name = p_source AND f.facts_hash = v_hashes[e.ordinal];
  RETURN cardinality(v_hashes);
END
$$;
