-- The books of every source: what it has, term by term (doc 31 §9). Only the governed grain counts; leaves that a container
-- accounts for stand beside it. From the ledger alone, so that no screen reads the candidates.
CREATE VIEW oneroof.v_governance_books AS
SELECT l.source_name, sum(l.members)::bigint AS total,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'governed'), 0)::bigint AS governed,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'inherited'), 0)::bigint AS inherited,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'governed' AND l.verdict = 'covered'), 0)::bigint AS covered,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'governed' AND l.verdict = 'orphan'), 0)::bigint AS orphan,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'governed' AND l.verdict = 'approved_exception'), 0)::bigint AS approved_exception,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'governed' AND l.verdict = 'retired'), 0)::bigint AS retired,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'governed' AND l.verdict = 'stale'), 0)::bigint AS stale,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'governed' AND l.verdict = 'deferred_birth'), 0)::bigint AS deferred_birth,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'governed' AND l.verdict = 'class_0'), 0)::bigint AS class_0,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'governed' AND l.verdict = 'undecided'), 0)::bigint AS undecided,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'inherited' AND l.verdict = 'covered'), 0)::bigint AS inherited_covered,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'inherited' AND l.verdict = 'orphan'), 0)::bigint AS inherited_orphan,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'inherited' AND l.verdict = 'approved_exception'), 0)::bigint AS inherited_approved_exception,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'inherited' AND l.verdict = 'retired'), 0)::bigint AS inherited_retired,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'inherited' AND l.verdict = 'stale'), 0)::bigint AS inherited_stale,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'inherited' AND l.verdict = 'deferred_birth'), 0)::bigint AS inherited_deferred_birth,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'inherited' AND l.verdict = 'class_0'), 0)::bigint AS inherited_class_0,
       coalesce(sum(l.members) FILTER (WHERE l.grain = 'inherited' AND l.verdict = 'undecided'), 0)::bigint AS inherited_undecided,
       -- What has no term: were it not nought, the books would not close.
       coalesce(sum(l.members) FILTER (WHERE l.grain NOT IN ('governed', 'inherited')
                                          OR l.verdict NOT IN ('covered', 'orphan', 'approved_exception', 'retired', 'stale', 'deferred_birth', 'class_0', 'undecided')), 0)::bigint
         AS unknown
FROM oneroof.governance_ledger AS l
GROUP BY l.source_name;
