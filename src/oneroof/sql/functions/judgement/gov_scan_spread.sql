-- Spread changed judgements of fact sets to their members, some at a time, class by class; a dirty member gets its verdict when it is
-- scanned. When no member of a class differs its sets are heard, and are checked once more when every transaction is finished that may
-- have read the older judgement: such a one had its xid before the judgement was committed, and so before the xid that is given here, to a
-- part of a later transaction. Answers how many were written.
CREATE OR REPLACE FUNCTION oneroof.gov_scan_spread(p_source text, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
SET timezone = 'UTC'
SET enable_nestloop = off
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  -- Of the time that a turn takes, not of the database's.
  v_until CONSTANT timestamptz := clock_timestamp() + interval '0.2 seconds';
  v_told bigint := 0;
  v_some bigint;
  v_class integer;
  v_hashes bigint[];
  v_judged timestamptz[];
  v_horizon xid8;
  v_later xid;
BEGIN
  IF NOT EXISTS (SELECT FROM oneroof.governance_fact_set AS f WHERE f.source_name = p_source AND f.is_spreading) THEN
    RETURN 0;
  END IF;
  BEGIN
    WITH noted AS (
      UPDATE oneroof.governance_fact_set AS f SET spreads_until = '0'::xid8
      WHERE f.source_name = p_source AND f.is_spreading AND f.spreads_until IS NULL AND f.xmin <> pg_current_xact_id()::xid
      RETURNING f.xmin
    )
    SELECT n.xmin INTO v_later FROM noted AS n LIMIT 1;
  EXCEPTION WHEN assert_failure THEN
    RAISE;
  END;
  IF v_later IS NOT NULL THEN
    UPDATE oneroof.governance_fact_set AS f SET spreads_until = oneroof.gov_xid_later(v_later)
    WHERE f.source_name = p_source AND f.spreads_until = '0'::xid8;
  END IF;
  LOOP
    -- Before the members are read: every transaction that is finished by now is seen.
    v_horizon := pg_snapshot_xmin(pg_current_snapshot());
    SELECT f.class_mark, array_agg(f.facts_hash), array_agg(f.judged_at) INTO v_class, v_hashes, v_judged
    FROM oneroof.governance_fact_set AS f WHERE f.source_name = p_source AND f.is_spreading AND NOT f.is_dirty
    GROUP BY f.class_mark HAVING bool_or(NOT f.is_heard OR f.spreads_until < v_horizon) ORDER BY f.class_mark LIMIT 1;
    EXIT WHEN NOT FOUND;
    WITH picked AS MATERIALIZED (
      SELECT c.candidate_key, f.verdict, f.undecided_reason, f.input_state, f.ruleset_version, f.stale_after
      FROM oneroof.governance_candidate_state AS c
      JOIN oneroof.governance_fact_set AS f ON f.source_name = p_source AND f.facts_hash = c.facts_hash
      WHERE c.class_mark = v_class AND c.source_name = p_source AND NOT c.dirty AND f.is_spreading AND NOT f.is_dirty
        AND ((c.verdict, c.undecided_reason, c.input_quality_state) IS DISTINCT FROM (f.verdict, f.undecided_reason, f.input_state)
             OR NOT oneroof.gov_expiry_holds(c.stale_after, c.scan_time, f.stale_after))
        AND (SELECT true FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key) IS NULL
      LIMIT p_most - v_told FOR UPDATE OF c SKIP LOCKED
    ), told AS (
      UPDATE oneroof.governance_candidate_state AS c
      SET verdict = p.verdict, undecided_reason = p.undecided_reason, input_quality_state = p.input_state, ruleset_version = p.ruleset_version,
          scan_time = at, stale_after = oneroof.gov_expiry_keep(c.stale_after, at, p.stale_after), updated_at = at
      FROM picked AS p WHERE c.candidate_key = p.candidate_key AND c.candidate_key = ANY (ARRAY(SELECT k.candidate_key FROM picked AS k))
      RETURNING 1
    )
    SELECT count(*) INTO v_some FROM told;
    v_told := v_told + v_some;
    EXIT WHEN v_told >= p_most;
    -- A member that another session has locked is written the next time.
    EXIT WHEN EXISTS (
      SELECT FROM oneroof.governance_candidate_state AS c
      JOIN oneroof.governance_fact_set AS f ON f.source_name = p_source AND f.facts_hash = c.facts_hash
      WHERE c.class_mark = v_class AND c.source_name = p_source AND NOT c.dirty AND f.is_spreading AND NOT f.is_dirty
        AND ((c.verdict, c.undecided_reason, c.input_quality_state) IS DISTINCT FROM (f.verdict, f.undecided_reason, f.input_state)
             OR NOT oneroof.gov_expiry_holds(c.stale_after, c.scan_time, f.stale_after))
        AND (SELECT true FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key) IS NULL);
    -- One that was judged again meanwhile begins anew.
    UPDATE oneroof.governance_fact_set AS f
    SET is_spreading = f.spreads_until IS NULL OR f.spreads_until >= v_horizon, is_heard = f.spreads_until IS NULL OR f.spreads_until >= v_horizon,
        spreads_until = CASE WHEN f.spreads_until >= v_horizon THEN f.spreads_until END
    FROM unnest(v_hashes, v_judged) AS u (facts_hash, judged_at)
    WHERE f.source_name = p_source AND f.facts_hash = u.facts_hash AND f.judged_at IS NOT DISTINCT FROM u.judged_at AND f.is_spreading AND NOT f.is_dirty;
    EXIT WHEN v_told > 0 AND clock_timestamp() > v_until;
  END LOOP;
  RETURN v_told;
END
$$;
