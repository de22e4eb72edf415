-- Which share of the groups is marked at this moment; of a handful nothing is said.
CREATE OR REPLACE FUNCTION public.gov_handoff_share() RETURNS real
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN m.marked < 10 THEN 0
              ELSE least(1, m.marked::real / greatest((SELECT count(DISTINCT c.class) FROM public.governance_class AS c), 1)) END::real
  FROM (SELECT count(*) AS marked FROM public.governance_group_mark AS k WHERE k.dirty) AS m
$$;
