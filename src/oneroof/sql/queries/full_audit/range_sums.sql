-- candidates --
-- Add candidates to their sets of facts and to the recount; answers the facts that some of them may have another verdict than.
WITH counted AS MATERIALIZED (
  SELECT * FROM unnest(%(facts_0)s::bigint[], %(groups_0)s::text[], %(grains_0)s::text[], %(verdicts_0)s::text[], %(reasons_0)s::text[],
                       %(suspects_0)s::boolean[], %(many_0)s::bigint[], %(totals_0)s::numeric[])
    AS c (facts_hash, group_key, grain, verdict, reason, is_suspect, members, total)
  UNION ALL
  SELECT * FROM unnest(%(facts_1)s::bigint[], %(groups_1)s::text[], %(grains_1)s::text[], %(verdicts_1)s::text[], %(reasons_1)s::text[],
                       %(suspects_1)s::boolean[], %(many_1)s::bigint[], %(totals_1)s::numeric[])
), added AS (
  INSERT INTO oneroof.governance_audit_facts AS a (source_name, facts_hash, candidate_count, candidate_sum)
  SELECT %(scope)s, c.facts_hash, sum(c.members), sum(c.total) FROM counted AS c GROUP BY 2
  ON CONFLICT (source_name, facts_hash) DO UPDATE
  SET candidate_count = a.candidate_count + excluded.candidate_count, candidate_sum = a.candidate_sum + excluded.candidate_sum
), booked AS (
  INSERT INTO oneroof.governance_audit_count AS a (source_name, group_key, grain, verdict, undecided_reason, members)
  SELECT %(scope)s, c.group_key, c.grain, c.verdict, c.reason, sum(c.members) FROM counted AS c GROUP BY 2, 3, 4, 5
  ON CONFLICT (source_name, group_key, grain, verdict, undecided_reason) DO UPDATE SET members = a.members + excluded.members
)
SELECT coalesce(array_agg(DISTINCT c.facts_hash), '{}') FROM counted AS c WHERE c.is_suspect
