-- Of which kind a change of an inventory's row is (doc 32 §3): the first mapping of its source, by priority, whose predicate it meets;
-- of a source without any of its own, the first of *.
CREATE OR REPLACE FUNCTION public.gov_handoff_kind(p_source text, p_row jsonb, p_born boolean) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT m.change_kind FROM public.governance_handoff_map AS m
  WHERE m.source_name = CASE WHEN EXISTS (SELECT FROM public.governance_handoff_map AS o WHERE o.source_name = p_source) THEN p_source ELSE '*' END
    AND (m.on_change = 'any' OR (m.on_change = 'birth') = p_born)
    AND (m.predicate IS NULL OR coalesce(jsonb_path_match(p_row, m.predicate, '{}', true), false))
  ORDER BY m.priority LIMIT 1
$$;
