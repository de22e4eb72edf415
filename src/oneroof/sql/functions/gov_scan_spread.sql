-- Tell members of fact sets that were judged otherwise than before, some at a time, a set's index entries at once; a dirty one hears
-- it when it is scanned. A set is done when no member differs and everybody is finished who may have read the older judgement: whoever
-- did had his number before the judgement was committed, and so before the one that is given here, to a part of a later transaction.
-- Answers how many were told.
CREATE OR REPLACE FUNCTION public.gov_scan_spread(p_source text, p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET random_page_cost = 1.1
SET timezone = 'UTC'
AS $$
DECLARE
  at CONSTANT timestamptz := public.gov_now();
  v_told bigint;
  v_later xid;
BEGIN
  IF NOT EXISTS (SELECT FROM public.governance_fact_set AS f WHERE f.source_name = p_source AND f.is_spreading) THEN
    RETURN 0;
  END IF;
  BEGIN
    WITH noted AS (
      UPDATE public.governance_fact_set AS f SET spreads_until = '0'::xid8
      WHERE f.source_name = p_source AND f.is_spreading AND f.spreads_until IS NULL AND f.xmin <> pg_current_xact_id()::xid
      RETURNING f.xmin
    )
    SELECT n.xmin INTO v_later FROM noted AS n LIMIT 1;
  EXCEPTION WHEN assert_failure THEN
    RAISE;
  END;
  IF v_later IS NOT NULL THEN
    UPDATE public.governance_fact_set AS f SET spreads_until = public.gov_xid_later(v_later)
    WHERE f.source_name = p_source AND f.spreads_until = '0'::xid8;
  END IF;
  WITH picked AS MATERIALIZED (
    SELECT c.candidate_key, f.verdict, f.undecided_reason, f.input_state, f.ruleset_version, f.stale_after
    FROM public.governance_fact_set AS f
    JOIN public.governance_candidate_state AS c ON c.facts_hash = f.facts_hash AND c.source_name = f.source_name
    WHERE f.source_name = p_source AND f.is_spreading AND NOT f.is_dirty AND NOT c.dirty
      AND (c.verdict, c.undecided_reason, c.input_quality_state, c.stale_after)
          IS DISTINCT FROM (f.verdict, f.undecided_reason, f.input_state, c.scan_time + f.stale_after)
      AND NOT EXISTS (SELECT FROM public.governance_object AS o WHERE o.candidate_key = c.candidate_key)
    LIMIT p_most FOR UPDATE OF c SKIP LOCKED
  ), told AS (
    UPDATE public.governance_candidate_state AS c
    SET verdict = p.verdict, undecided_reason = p.undecided_reason, input_quality_state = p.input_state, ruleset_version = p.ruleset_version,
        scan_time = at, stale_after = at + p.stale_after, updated_at = at
    FROM picked AS p WHERE c.candidate_key = p.candidate_key
    RETURNING 1
  )
  SELECT count(*) INTO v_told FROM told;
  IF v_told = 0 THEN
    UPDATE public.governance_fact_set AS f SET is_spreading = false, spreads_until = NULL
    WHERE f.source_name = p_source AND f.is_spreading AND NOT f.is_dirty AND f.spreads_until < pg_snapshot_xmin(pg_current_snapshot())
      AND NOT EXISTS (
        SELECT FROM public.governance_candidate_state AS c
        WHERE c.facts_hash = f.facts_hash AND c.source_name = f.source_name AND NOT c.dirty
          AND (c.verdict, c.undecided_reason, c.input_quality_state, c.stale_after)
              IS DISTINCT FROM (f.verdict, f.undecided_reason, f.input_state, c.scan_time + f.stale_after)
          AND NOT EXISTS (SELECT FROM public.governance_object AS o WHERE o.candidate_key = c.candidate_key));
  END IF;
  RETURN v_told;
END
$$;
