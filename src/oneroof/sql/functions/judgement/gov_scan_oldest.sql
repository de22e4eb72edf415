-- Since when the candidate of each source has waited that has waited longest for its verdict, before the gate or behind it. The first
-- entries of the index say so, whatever the planner thinks of how many there are.
CREATE OR REPLACE FUNCTION oneroof.gov_scan_oldest() RETURNS TABLE (source_name text, dirtied_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
  SELECT s.source_name, least(p.at, j.at)
  FROM oneroof.governance_source AS s
  LEFT JOIN LATERAL (
    SELECT c.dirtied_at AS at FROM oneroof.governance_candidate_state AS c
    WHERE c.source_name = s.source_name AND c.dirty AND (c.input_quality_state = 'pending') = true
    ORDER BY c.source_name, (c.input_quality_state = 'pending'), c.dirtied_at LIMIT 1) AS p ON true
  LEFT JOIN LATERAL (
    SELECT c.dirtied_at AS at FROM oneroof.governance_candidate_state AS c
    WHERE c.source_name = s.source_name AND c.dirty AND (c.input_quality_state = 'pending') = false
    ORDER BY c.source_name, (c.input_quality_state = 'pending'), c.dirtied_at LIMIT 1) AS j ON true
$$;
