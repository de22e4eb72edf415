-- Keep the books: whatever a statement inserted, changed or deleted moves the counts of its groups, in its own transaction. In one
-- order for all writers, so that two writers in one shard wait for each other and never in a circle. A verdict that gives way to another goes into the history, but for the first wait. A group whose members have other facts than before is touched, even if it has
-- as many as before: they may have other findings. A plan that was made for a statement of one row is kept for one of thousands,
-- so that a nested loop is never the right one.
CREATE OR REPLACE FUNCTION oneroof.gov_ledger_move() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  v_shard CONSTANT bigint := pg_backend_pid() % 16;
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO oneroof.governance_ledger AS l (source_name, group_key, grain, verdict, undecided_reason, shard, members)
    SELECT n.source_name, n.group_key, n.grain, n.verdict, coalesce(n.undecided_reason, ''), v_shard, count(*)
    FROM new_rows AS n GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (source_name, group_key, grain, verdict, undecided_reason, shard) DO UPDATE
    SET members = l.members + excluded.members;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO oneroof.governance_ledger AS l (source_name, group_key, grain, verdict, undecided_reason, shard, members)
    SELECT o.source_name, o.group_key, o.grain, o.verdict, coalesce(o.undecided_reason, ''), v_shard, - count(*)
    FROM old_rows AS o GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (source_name, group_key, grain, verdict, undecided_reason, shard) DO UPDATE
    SET members = l.members + excluded.members;
  ELSIF TG_OP = 'UPDATE' THEN
    INSERT INTO oneroof.governance_ledger AS l (source_name, group_key, grain, verdict, undecided_reason, shard, members)
    SELECT m.source_name, m.group_key, m.grain, m.verdict, m.reason, v_shard, sum(m.members)
    FROM (SELECT o.source_name, o.group_key, o.grain, o.verdict, coalesce(o.undecided_reason, '') AS reason, -1 AS members, o.facts_hash AS facts FROM old_rows AS o
          UNION ALL
          SELECT n.source_name, n.group_key, n.grain, n.verdict, coalesce(n.undecided_reason, ''), 1, n.facts_hash FROM new_rows AS n) AS m
    GROUP BY 1, 2, 3, 4, 5 HAVING sum(m.members) <> 0 OR sum(m.facts) FILTER (WHERE m.members < 0) IS DISTINCT FROM sum(m.facts) FILTER (WHERE m.members > 0)
    ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (source_name, group_key, grain, verdict, undecided_reason, shard) DO UPDATE
    SET members = l.members + excluded.members;
    INSERT INTO oneroof.governance_verdict_history
      (candidate_key, verdict, undecided_reason, ruleset_version, change_number, scan_time, ended_at, ended_because)
    SELECT o.candidate_key, o.verdict, o.undecided_reason, o.ruleset_version, o.change_number, o.scan_time, at,
           coalesce(o.dirty_reason, CASE WHEN n.facts_hash = o.facts_hash THEN 'policy_or_rules_changed' ELSE 'source_row_changed' END)
    FROM old_rows AS o JOIN new_rows AS n ON n.candidate_key = o.candidate_key
    WHERE (o.verdict, o.undecided_reason) IS DISTINCT FROM (n.verdict, n.undecided_reason)
      AND o.undecided_reason IS DISTINCT FROM 'pending';
  ELSE
    DELETE FROM oneroof.governance_ledger;
  END IF;
  RETURN NULL;
END
$$;
