-- insert --
WITH batch AS MATERIALIZED ({rows}),
put AS (
  INSERT INTO public.governance_candidate_state
    (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, facts_hash, grain)
  SELECT candidate_key, %(ruleset)s, group_key, %(source)s, source_key, source_version, facts_hash, grain FROM batch
  RETURNING 1
)
SELECT (SELECT count(*) FROM batch), (SELECT count(*) FROM batch WHERE row_xid < %(below)s), (SELECT count(*) FROM put), last.ts_text, last.source_key, mark.ts_text, mark.source_key
FROM (SELECT 1) AS one
LEFT JOIN (SELECT ts_text, source_key FROM batch ORDER BY place DESC LIMIT 1) AS last ON true
LEFT JOIN (SELECT ts_text, source_key FROM batch
           WHERE isfinite(ts) AND ts <= (SELECT public.gov_now() + interval '5 minutes')
           ORDER BY ts DESC, place DESC LIMIT 1) AS mark ON true

-- upsert --
WITH batch AS MATERIALIZED ({rows}),
put AS (
  INSERT INTO public.governance_candidate_state AS c
    (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, facts_hash, grain)
  SELECT DISTINCT ON (candidate_key) candidate_key, %(ruleset)s, group_key, %(source)s, source_key, source_version, facts_hash, grain
  FROM batch ORDER BY candidate_key, place
  ON CONFLICT (candidate_key) DO UPDATE
  SET group_key = excluded.group_key, source_version = excluded.source_version, facts_hash = excluded.facts_hash,
      grain = excluded.grain, change_number = c.change_number + 1, dirty = true, dirty_reason = 'source_row_changed',
      dirtied_at = public.gov_now(), updated_at = public.gov_now()
  WHERE c.source_name = excluded.source_name AND c.source_key = excluded.source_key
    AND (c.facts_hash, c.group_key, c.grain) IS DISTINCT FROM (excluded.facts_hash, excluded.group_key, excluded.grain)
  RETURNING 1
)
SELECT (SELECT count(*) FROM batch), (SELECT count(*) FROM batch WHERE row_xid < %(below)s), (SELECT count(*) FROM put), last.ts_text, last.source_key, mark.ts_text, mark.source_key
FROM (SELECT 1) AS one
LEFT JOIN (SELECT ts_text, source_key FROM batch ORDER BY place DESC LIMIT 1) AS last ON true
LEFT JOIN (SELECT ts_text, source_key FROM batch
           WHERE isfinite(ts) AND ts <= (SELECT public.gov_now() + interval '5 minutes')
           ORDER BY ts DESC, place DESC LIMIT 1) AS mark ON true
