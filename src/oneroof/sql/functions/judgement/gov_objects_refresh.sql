-- Look again at what is said of single objects: their own owners and exceptions, and that
-- several rows are one, as of now. What changed of one makes it be judged
-- anew. Answers of how many that was.
CREATE OR REPLACE FUNCTION oneroof.gov_objects_refresh() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  WITH owner AS (
    SELECT o.subject, jsonb_object_agg(o.responsibility, o.owners) AS facts
    FROM (SELECT a.subject, a.responsibility, count(*) AS owners FROM oneroof.v_active_ownership AS a
          WHERE a.level = 'object' GROUP BY a.subject, a.responsibility) AS o
    GROUP BY o.subject
  ), excuse AS (
    SELECT e.subject, e.state FROM oneroof.v_exception_effective AS e WHERE e.level = 'object' AND e.state <> 'revoked'
  ), double AS (
    SELECT DISTINCT d.candidate_key AS subject FROM oneroof.governance_duplicate AS d WHERE d.is_double
  ), wanted AS MATERIALIZED (
    SELECT subject AS candidate_key,
           jsonb_strip_nulls(jsonb_build_object('owners', o.facts, 'exception', e.state, 'duplicate', CASE WHEN d IS NOT NULL THEN true END)) AS facts
    FROM owner AS o FULL JOIN excuse AS e USING (subject) FULL JOIN double AS d USING (subject)
  ), known AS MATERIALIZED (
    SELECT k.candidate_key, k.facts - 'state' AS facts FROM oneroof.governance_object AS k
    WHERE k.facts ?| '{owners,exception,duplicate}'::text[]
  ), told AS (
    INSERT INTO oneroof.governance_object AS o (candidate_key, facts)
    SELECT w.candidate_key, w.facts FROM wanted AS w
    WHERE NOT EXISTS (SELECT FROM known AS k WHERE k.candidate_key = w.candidate_key AND k.facts = w.facts)
    ORDER BY w.candidate_key
    ON CONFLICT (candidate_key) DO UPDATE
    SET facts = (o.facts - '{owners,exception,duplicate}'::text[]) || excluded.facts, is_dirty = true
    RETURNING 1
  ), untold AS (
    UPDATE oneroof.governance_object AS o SET facts = o.facts - '{owners,exception,duplicate}'::text[], is_dirty = true
    FROM known AS k
    WHERE o.candidate_key = k.candidate_key AND NOT EXISTS (SELECT FROM wanted AS w WHERE w.candidate_key = k.candidate_key)
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM told) + (SELECT count(*) FROM untold)
$$;
