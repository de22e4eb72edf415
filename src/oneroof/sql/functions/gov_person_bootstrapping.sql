-- May the installer still register people alone? Until two approvers are there; they are never fewer again.
CREATE OR REPLACE FUNCTION public.gov_person_bootstrapping() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT count(*) < 2 FROM public.governance_person WHERE 'approver' = ANY (roles)
$$;
