-- Which share of the groups that are known is marked at this moment; of a handful nothing is said.
CREATE OR REPLACE FUNCTION oneroof.gov_group_marks_share() RETURNS real
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN m.marked < 10 THEN 0 ELSE m.marked::real / (SELECT count(DISTINCT c.class) FROM oneroof.governance_class AS c) END::real
  FROM (SELECT count(*) AS marked FROM oneroof.governance_group_mark AS k
        WHERE k.dirty AND EXISTS (SELECT FROM oneroof.governance_class AS c WHERE c.class = k.class)) AS m
$$;
