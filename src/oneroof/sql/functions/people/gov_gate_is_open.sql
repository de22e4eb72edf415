-- Closed unless opened: the host's value says true AND an approval stands that is bound to this version of its row.
CREATE OR REPLACE FUNCTION oneroof.gov_gate_is_open(p_gate text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT coalesce((SELECT is_open FROM oneroof.v_gate_state WHERE gate_key = p_gate), false)
$$;
