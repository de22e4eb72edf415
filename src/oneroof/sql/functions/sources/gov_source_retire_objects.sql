-- Retire some of the objects of a source that was removed, as tombstones (doc 31 §7), in the order of their pages; when a whole pass has
-- met none, close its findings and forget what was known of its classes, some at a time too. The place is kept: the next
-- call goes on. A call while another one is at work leaves it to that one. A source that is there again is left alone. Answers how many were
-- retired, and whether it is over.
CREATE OR REPLACE FUNCTION oneroof.gov_source_retire_objects(p_source text, p_most bigint) RETURNS TABLE (buried bigint, is_over boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
AS $$
DECLARE
  -- Pages to look through at once.
  v_stretch CONSTANT bigint := 8192;
  at CONSTANT timestamptz := oneroof.gov_now();
  v_version CONSTANT text := coalesce(oneroof.gov_ruleset_active(), 'none');
  v_page bigint;
  v_found bigint;
  v_keys text[];
  v_left bigint;
BEGIN
  SELECT r.at_page, r.found INTO v_page, v_found FROM oneroof.governance_source_removed AS r
  WHERE r.source_name = p_source AND r.retired_at IS NULL AND NOT r.is_kept FOR UPDATE SKIP LOCKED;
  IF NOT FOUND OR EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = p_source) THEN
    RETURN QUERY SELECT 0::bigint, true;
    RETURN;
  END IF;
  IF v_page IS NOT NULL THEN
    v_keys := ARRAY(
      SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c
      WHERE c.ctid >= format('(%s,0)', v_page)::tid AND c.ctid < format('(%s,0)', v_page + v_stretch)::tid AND c.source_name = p_source
        AND NOT EXISTS (SELECT FROM oneroof.governance_object AS o
                        WHERE o.candidate_key = c.candidate_key AND o.facts @> '{"state": {"gone": true, "vanished": false}}')
      LIMIT p_most);
    PERFORM FROM oneroof.governance_candidate_state AS c
    WHERE c.candidate_key = ANY (v_keys) AND c.source_name = p_source ORDER BY c.candidate_key FOR UPDATE;
    -- Why it ends is said of a verdict before it ends.
    UPDATE oneroof.governance_candidate_state AS c SET dirty = true, dirty_reason = 'source_removed', dirtied_at = at
    WHERE c.candidate_key = ANY (v_keys) AND c.source_name = p_source;
    INSERT INTO oneroof.governance_object AS o
      (candidate_key, facts, verdict, undecided_reason, rule_code, input_state, input_rule, ruleset_version, judged_at, judged_hash, is_dirty, is_settled)
    SELECT c.candidate_key, '{"state": {"gone": true, "vanished": false}}', 'retired', NULL, 'gone', 'ready', 'input_ready', v_version, at, c.facts_hash, false, true
    FROM oneroof.governance_candidate_state AS c
    WHERE c.candidate_key = ANY (v_keys) AND c.source_name = p_source ORDER BY c.candidate_key
    ON CONFLICT (candidate_key) DO UPDATE
    SET facts = o.facts || jsonb_build_object('state', coalesce(o.facts -> 'state', '{}'::jsonb) || (excluded.facts -> 'state')), verdict = excluded.verdict,
        undecided_reason = NULL, rule_code = excluded.rule_code, input_state = excluded.input_state, input_rule = excluded.input_rule, finding_types = '{}',
        stale_after = NULL, ruleset_version = excluded.ruleset_version, judged_at = at, judged_hash = excluded.judged_hash, is_dirty = false;
    UPDATE oneroof.governance_candidate_state AS c
    SET verdict = 'retired', undecided_reason = NULL, input_quality_state = 'ready', ruleset_version = v_version, scan_time = at, stale_after = NULL,
        dirty = false, dirtied_at = NULL, updated_at = at
    WHERE c.candidate_key = ANY (v_keys) AND c.source_name = p_source;
    v_found := v_found + cardinality(v_keys);
    IF cardinality(v_keys) < p_most THEN
      v_page := v_page + v_stretch;
    END IF;
    IF v_page >= pg_relation_size('oneroof.governance_candidate_state') / current_setting('block_size')::bigint THEN
      -- Objects written meanwhile may lie behind; a pass that meets none is the last.
      v_page := CASE WHEN v_found > 0 THEN 0 END;
      v_found := 0;
    END IF;
    UPDATE oneroof.governance_source_removed AS r SET at_page = v_page, found = v_found, retired = r.retired + cardinality(v_keys)
    WHERE r.source_name = p_source;
    RETURN QUERY SELECT cardinality(v_keys)::bigint, false;
    RETURN;
  END IF;
  UPDATE oneroof.governance_class_finding AS g SET population = 0, samples = '{}', is_told = false
  WHERE g.source_name = p_source AND g.population > 0;
  v_left := oneroof.gov_findings_raise(p_source, p_most);
  IF v_left = 0 THEN
    DELETE FROM oneroof.governance_fact_set AS f
    WHERE f.ctid = ANY (ARRAY(SELECT d.ctid FROM oneroof.governance_fact_set AS d WHERE d.source_name = p_source LIMIT p_most));
    GET DIAGNOSTICS v_left = ROW_COUNT;
  END IF;
  IF v_left = 0 THEN
    DELETE FROM oneroof.governance_duplicate AS n
    WHERE n.ctid = ANY (ARRAY(SELECT d.ctid FROM oneroof.governance_duplicate AS d WHERE d.source_name = p_source LIMIT p_most));
    GET DIAGNOSTICS v_left = ROW_COUNT;
  END IF;
  IF v_left = 0 THEN
    DELETE FROM oneroof.governance_class AS c WHERE c.source_name = p_source;
    DELETE FROM oneroof.governance_class_finding AS g WHERE g.source_name = p_source;
    DELETE FROM oneroof.governance_audit_facts AS a WHERE a.source_name = p_source;
    DELETE FROM oneroof.governance_audit_bucket AS a WHERE a.source_name = p_source;
    DELETE FROM oneroof.governance_audit_count AS a WHERE a.source_name = p_source;
    DELETE FROM oneroof.governance_vanishing AS v WHERE v.source_name = p_source;
    PERFORM oneroof.gov_finding_clear(f.issue_type, substr(f.coalesce_key, length(f.issue_type) + 2))
    FROM oneroof.governance_finding AS f
    WHERE f.is_open AND f.issue_type = 'mass_vanishing' AND starts_with(f.coalesce_key, 'mass_vanishing:' || p_source || ':');
    UPDATE oneroof.governance_source_removed AS r SET retired_at = at WHERE r.source_name = p_source;
    PERFORM oneroof.gov_audit_note('source'::text, p_source, 'retire'::text);
  END IF;
  RETURN QUERY SELECT 0::bigint, v_left = 0;
END
$$;
