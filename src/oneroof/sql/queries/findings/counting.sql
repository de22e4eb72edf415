-- has_moved --
-- Whether the books have moved, or what is known of single objects, since every transaction was finished that was not yet when they were last
-- counted.
SELECT EXISTS (SELECT FROM oneroof.governance_ledger AS l WHERE l.source_name = %(source)s AND age(l.xmin) <= (SELECT age(%(since)s::text::xid)))
    OR EXISTS (SELECT FROM oneroof.governance_object AS o WHERE age(o.xmin) <= (SELECT age(%(since)s::text::xid)))

-- horizon --
SELECT pg_snapshot_xmin(pg_current_snapshot())::xid::text

-- count --
SELECT c.changed, c.remaining FROM oneroof.gov_findings_count(%(source)s::text, %(most)s::bigint) AS c
