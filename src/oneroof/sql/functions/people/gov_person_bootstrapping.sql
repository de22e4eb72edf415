-- May the installer still register people alone? Until two approvers are there, who are never fewer again; and in a
-- database that was restored into another cluster, where all links are to roles of the old one, until two are linked anew.
CREATE OR REPLACE FUNCTION oneroof.gov_person_bootstrapping() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT count(*) < 2
    OR (EXISTS (SELECT FROM oneroof.governance_person_login WHERE cluster <> oneroof.gov_cluster())
        AND 2 > count(*) FILTER (WHERE EXISTS (SELECT FROM oneroof.governance_person_login AS l
                                               WHERE l.person_code = p.person_code AND l.cluster = oneroof.gov_cluster())))
  FROM oneroof.governance_person AS p WHERE 'approver' = ANY (roles)
$$;
