-- chained --
SELECT c.sequence, c.previous_sha256, c.previous_sha256 IS NULL OR EXISTS (
         SELECT FROM oneroof.governance_certificate AS p WHERE p.sha256 = c.previous_sha256 AND p.sequence < c.sequence),
       (SELECT p.signer FROM oneroof.governance_certificate AS p WHERE p.sha256 = c.previous_sha256)
FROM oneroof.governance_certificate AS c WHERE c.sha256 = %(sha256)s

-- unchanged --
-- The rows of a range of pages that were written before a snapshot, and have not changed since.
SELECT count(*), coalesce(sum({hash}), 0) FROM {table} AS s WHERE {where}

-- standing --
-- The same of candidates, by grain and verdict.
SELECT s.grain, s.verdict, count(*) FROM oneroof.governance_candidate_state AS s
WHERE s.source_name = %(source)s AND {where} GROUP BY 1, 2
