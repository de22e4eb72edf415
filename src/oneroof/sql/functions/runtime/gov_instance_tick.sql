-- An instance lives, and runs these workers. Answers how many instances live that run each of them, itself among them.
CREATE OR REPLACE FUNCTION oneroof.gov_instance_tick(p_instance text, p_workers text[], p_ttl interval)
RETURNS TABLE (worker_name text, instances bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
BEGIN
  INSERT INTO oneroof.governance_instance AS i (instance, workers, started_at, seen_at) VALUES (p_instance, p_workers, at, at)
  ON CONFLICT (instance) DO UPDATE SET workers = excluded.workers, seen_at = excluded.seen_at;
  -- One that was killed leaves its row.
  DELETE FROM oneroof.governance_instance AS i WHERE i.seen_at < at - interval '1 hour';
  RETURN QUERY
  SELECT w.name, count(*) FROM unnest(p_workers) AS w (name)
  JOIN oneroof.governance_instance AS i ON w.name = ANY (i.workers) AND i.seen_at >= at - p_ttl
  GROUP BY w.name;
END
$$;
