-- The whole facts of an object: its row's, its class's, the usual state, and what is known of it alone, which comes before. Where
-- it has owners of its own for some responsibilities, there is a conflict if two are left for any.
CREATE OR REPLACE FUNCTION oneroof.gov_facts_of(p_source text, p_class text, p_grain text, p_row jsonb, p_class_facts jsonb, p_own jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT jsonb_build_object('source', p_source, 'class', p_class, 'grain', p_grain, 'row', p_row) || coalesce(p_class_facts, '{}'::jsonb)
         || jsonb_build_object(
              'state', '{"born": true, "gone": false, "vanished": false, "duplicate": false, "failed": "none", "trusted": true,
                         "quarantined": false, "reborn": false}'::jsonb
                       || coalesce(p_class_facts -> 'state', '{}'::jsonb) || coalesce(p_own -> 'state', '{}'::jsonb)
                       || CASE WHEN p_own ? 'duplicate' THEN '{"duplicate": true}'::jsonb ELSE '{}'::jsonb END,
              'owners', CASE WHEN p_own -> 'owners' IS NULL THEN coalesce(p_class_facts -> 'owners', '{}'::jsonb)
                             ELSE (SELECT o.owners || jsonb_build_object('conflict', EXISTS (
                                     SELECT FROM jsonb_each(o.owners - '{known,unknown,conflict}'::text[]) AS r (responsibility, many)
                                     WHERE r.many > '1'::jsonb))
                                   FROM (SELECT coalesce(p_class_facts -> 'owners', '{}'::jsonb) || (p_own -> 'owners') AS owners) AS o) END,
              'exception', coalesce(p_own -> 'exception', p_class_facts -> 'exception', '"none"'::jsonb))
$$;
