-- Count the candidates of some groups again and put the books right where they say otherwise (doc 31 §9). Both are read in one snapshot,
-- and the difference is added in a shard of its own: sessions that move counts meanwhile move other shards, and sums add up in any order.
-- Answers how many groups were put right.
CREATE OR REPLACE FUNCTION oneroof.gov_ledger_recount(p_source text, p_groups text[]) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
  WITH counted AS (
    SELECT c.group_key, c.grain, c.verdict, coalesce(c.undecided_reason, '') AS reason, count(*) AS members
    FROM oneroof.governance_candidate_state AS c WHERE c.source_name = p_source AND c.group_key = ANY (p_groups) GROUP BY 1, 2, 3, 4
  ), kept AS (
    SELECT l.group_key, l.grain, l.verdict, l.undecided_reason AS reason, sum(l.members)::bigint AS members
    FROM oneroof.governance_ledger AS l WHERE l.source_name = p_source AND l.group_key = ANY (p_groups) GROUP BY 1, 2, 3, 4
  ), mended AS (
    INSERT INTO oneroof.governance_ledger AS l (source_name, group_key, grain, verdict, undecided_reason, shard, members)
    SELECT p_source, group_key, grain, verdict, reason, 16, coalesce(c.members, 0) - coalesce(k.members, 0)
    FROM counted AS c FULL JOIN kept AS k USING (group_key, grain, verdict, reason)
    WHERE coalesce(c.members, 0) <> coalesce(k.members, 0)
    ORDER BY group_key, grain, verdict, reason
    ON CONFLICT (source_name, group_key, grain, verdict, undecided_reason, shard) DO UPDATE SET members = l.members + excluded.members
    RETURNING l.group_key
  )
  SELECT count(DISTINCT m.group_key) FROM mended AS m
$$;
