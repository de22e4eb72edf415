-- What waits, in one row: marks not yet judged, verdicts past their time, items that failed. Each count reads a partial index,
-- and no more than 10,001 entries of it: 10001 means more than ten thousand, for a screen never reads the candidates.
CREATE VIEW oneroof.v_governance_depth AS
SELECT
  (SELECT count(*) FROM (SELECT FROM oneroof.governance_candidate_state AS c WHERE c.dirty LIMIT 10001) AS bounded) AS dirty,
  -- The clock is asked once, in a query of its own; otherwise no index could serve. The oldest says whether there is any, whatever the
  -- planner thinks of a table that was never analysed.
  (SELECT count(*) FROM (SELECT FROM oneroof.governance_candidate_state AS c
                         WHERE (SELECT min(o.stale_after) FROM oneroof.governance_candidate_state AS o) < (SELECT oneroof.gov_now())
                           AND c.stale_after < (SELECT oneroof.gov_now()) ORDER BY c.stale_after LIMIT 10001) AS bounded) AS stale,
  (SELECT count(*) FROM oneroof.governance_retry AS r WHERE r.state = 'waiting') AS waiting,
  (SELECT count(*) FROM oneroof.governance_retry AS r WHERE r.state = 'dead') AS dead;
