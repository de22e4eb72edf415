-- The books of every group, term by term (doc 31 §9), from the ledger alone.
CREATE VIEW oneroof.v_governance_group AS
SELECT l.source_name, l.group_key, l.grain, sum(l.members)::bigint AS total,
       coalesce(sum(l.members) FILTER (WHERE l.verdict = 'covered'), 0)::bigint AS covered,
       coalesce(sum(l.members) FILTER (WHERE l.verdict = 'orphan'), 0)::bigint AS orphan,
       coalesce(sum(l.members) FILTER (WHERE l.verdict = 'approved_exception'), 0)::bigint AS approved_exception,
       coalesce(sum(l.members) FILTER (WHERE l.verdict = 'retired'), 0)::bigint AS retired,
       coalesce(sum(l.members) FILTER (WHERE l.verdict = 'stale'), 0)::bigint AS stale,
       coalesce(sum(l.members) FILTER (WHERE l.verdict = 'deferred_birth'), 0)::bigint AS deferred_birth,
       coalesce(sum(l.members) FILTER (WHERE l.verdict = 'class_0'), 0)::bigint AS class_0,
       coalesce(sum(l.members) FILTER (WHERE l.verdict = 'undecided'), 0)::bigint AS undecided,
       coalesce(sum(l.members) FILTER (WHERE l.verdict NOT IN ('covered', 'orphan', 'approved_exception', 'retired', 'stale', 'deferred_birth', 'class_0', 'undecided')), 0)::bigint
         AS unknown
FROM oneroof.governance_ledger AS l
GROUP BY l.source_name, l.group_key, l.grain
HAVING sum(l.members) <> 0;
