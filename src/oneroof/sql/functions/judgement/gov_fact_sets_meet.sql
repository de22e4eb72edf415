-- Learn sets of facts that are met for the first time, given as arrays with a place in each for every set, and judge them with it, so that
-- the rows that have them are written once, with their verdict. Facts of a class that was never looked at are left to the input check.
-- Answers those of the given sets that are judged. Sets are inserted in the order of their hashes: two transactions that meet the same
-- ones wait for each other and never in a circle.
CREATE OR REPLACE FUNCTION oneroof.gov_fact_sets_meet(
  p_source text, p_hashes bigint[], p_groups text[], p_classes text[], p_grains text[], p_facts jsonb[]
) RETURNS TABLE (facts_hash bigint, verdict text, undecided_reason text, input_state text, ruleset_version text, stale_after interval)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
  v_version CONSTANT text := oneroof.gov_ruleset_active();
  v_places bigint[];
  v_facts jsonb[];
BEGIN
  SELECT array_agg(u.place ORDER BY u.place), array_agg(oneroof.gov_facts_of(p_source, u.class, u.grain, u.facts, c.facts, NULL::jsonb) ORDER BY u.place)
  INTO v_places, v_facts
  FROM unnest(p_classes, p_grains, p_facts) WITH ORDINALITY AS u (class, grain, facts, place)
  JOIN oneroof.governance_class AS c ON c.source_name = p_source AND c.class = u.class;
  IF v_facts IS NULL THEN
    RETURN;
  END IF;
  INSERT INTO oneroof.governance_fact_set
    (source_name, facts_hash, group_key, class, grain, row_facts, verdict, undecided_reason, rule_code, input_state, input_rule, finding_types,
     stale_after, ruleset_version, judged_at, is_dirty)
  SELECT p_source, u.hash, u.group_key, u.class, u.grain, u.facts, e.verdict, e.undecided_reason, e.rule_code, e.input_state, e.input_rule,
         e.finding_types, e.stale_after, v_version, oneroof.gov_now(), false
  FROM unnest(p_hashes, p_groups, p_classes, p_grains, p_facts) WITH ORDINALITY AS u (hash, group_key, class, grain, facts, place)
  JOIN oneroof.gov_rules_evaluate(v_facts, v_version) AS e ON v_places[e.ordinal] = u.place
  ORDER BY u.hash
  ON CONFLICT DO NOTHING;
  RETURN QUERY
  SELECT f.facts_hash, f.verdict, f.undecided_reason, f.input_state, f.ruleset_version, f.stale_after
  FROM oneroof.governance_fact_set AS f
  WHERE f.source_name = p_source AND f.facts_hash = ANY (p_hashes) AND NOT f.is_dirty;
END
$$;
