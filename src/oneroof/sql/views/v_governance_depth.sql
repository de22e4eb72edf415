-- What waits, in one row: marks not yet judged, verdicts past their time, items that failed. Each count reads a partial index.
CREATE VIEW public.v_governance_depth AS
SELECT
  (SELECT count(*) FROM public.governance_candidate_state AS c WHERE c.dirty) AS dirty,
  -- The clock is asked once, in a query of its own; otherwise no index could serve.
  (SELECT count(*) FROM public.governance_candidate_state AS c WHERE c.stale_after < (SELECT public.gov_now())) AS stale,
  (SELECT count(*) FROM public.governance_retry AS r WHERE r.state = 'waiting') AS waiting,
  (SELECT count(*) FROM public.governance_retry AS r WHERE r.state = 'dead') AS dead;
