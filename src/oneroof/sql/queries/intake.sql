-- inventory --
WITH batch AS MATERIALIZED ({rows}),
remembered AS (
  INSERT INTO public.governance_open_row (worker_name, source_name, source_key, row_xid)
  SELECT %(worker)s, %(source)s, source_key, row_xid FROM batch WHERE %(remember)s
),
put AS (
  INSERT INTO public.governance_candidate_state AS c
    (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, facts_hash, grain, dirty, dirty_reason,
     dirtied_at)
  SELECT DISTINCT ON (candidate_key) candidate_key, %(ruleset)s, group_key, %(source)s, source_key, source_version, facts_hash, grain,
         true, 'object_born', public.gov_now()
  FROM batch ORDER BY candidate_key, place
  ON CONFLICT (candidate_key) DO UPDATE
  SET group_key = excluded.group_key, source_version = excluded.source_version, facts_hash = excluded.facts_hash,
      grain = excluded.grain, change_number = c.change_number + 1, dirty = true, dirty_reason = 'source_row_changed',
      dirtied_at = public.gov_now(), updated_at = public.gov_now()
  WHERE c.source_name = excluded.source_name AND c.source_key = excluded.source_key
    AND (c.facts_hash, c.group_key, c.grain) IS DISTINCT FROM (excluded.facts_hash, excluded.group_key, excluded.grain)
  RETURNING 1
)
SELECT (SELECT count(*) FROM batch), (SELECT count(*) FROM put), mark.ts_text, mark.source_key
FROM (SELECT 1) AS one
LEFT JOIN (SELECT ts_text, source_key FROM batch
           WHERE isfinite(ts) AND ts <= (SELECT public.gov_now() + interval '5 minutes')
           ORDER BY ts DESC, place DESC LIMIT 1) AS mark ON true

-- changelog --
WITH batch AS MATERIALIZED ({rows}),
remembered AS (
  INSERT INTO public.governance_open_row (worker_name, source_name, source_key, row_xid)
  SELECT %(worker)s, %(source)s, source_key, row_xid FROM batch WHERE %(remember)s
)
SELECT (SELECT count(*) FROM batch), 0, mark.ts_text, mark.source_key
FROM (SELECT 1) AS one
LEFT JOIN (SELECT ts_text, source_key FROM batch
           WHERE isfinite(ts) AND ts <= (SELECT public.gov_now() + interval '5 minutes')
           ORDER BY ts DESC, place DESC LIMIT 1) AS mark ON true
