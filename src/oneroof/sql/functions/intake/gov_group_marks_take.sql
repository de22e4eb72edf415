-- Take marks of groups: what their members are judged by is judged again, now that it may have changed (doc 32 §9). In a storm, which
-- is a finding then, p_most at a time, as long as most groups are marked (doc 31 §11). A group that is marked meanwhile is marked anew. Answers how many were taken, and how many are left.
CREATE OR REPLACE FUNCTION oneroof.gov_group_marks_take(p_most bigint) RETURNS TABLE (taken bigint, remaining bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  v_classes text[];
  v_limit bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM oneroof.governance_group_mark AS k WHERE k.dirty) THEN
    taken := 0;
    remaining := 0;
    RETURN NEXT;
    RETURN;
  END IF;
  v_limit := (SELECT p_most FROM oneroof.governance_worker_policy AS p
              WHERE p.worker_name = 'gov_handoff_intake' AND oneroof.gov_group_marks_share() > p.storm_share
                AND EXISTS (SELECT FROM oneroof.governance_finding AS f WHERE f.is_open AND f.issue_type = 'group_invalidation_storm'));
  WITH picked AS MATERIALIZED (
    SELECT k.class FROM oneroof.governance_group_mark AS k WHERE k.dirty ORDER BY k.dirtied_at, k.class LIMIT v_limit FOR UPDATE SKIP LOCKED
  ), done AS (
    UPDATE oneroof.governance_group_mark AS k SET dirty = false FROM picked AS p WHERE k.class = p.class RETURNING k.class
  )
  SELECT coalesce(array_agg(d.class), '{}') INTO v_classes FROM done AS d;
  IF v_classes <> '{}' THEN
    -- Also what is dirty already: another session may be judging it at this moment by older facts, and has to be waited for.
    UPDATE oneroof.governance_fact_set AS f SET is_dirty = true WHERE f.class = ANY (v_classes);
  END IF;
  taken := cardinality(v_classes);
  remaining := CASE WHEN v_limit IS NULL THEN 0 ELSE (SELECT count(*) FROM oneroof.governance_group_mark AS k WHERE k.dirty) END;
  RETURN NEXT;
END
$$;
