-- Let the rows of a source count (doc 32 §7), on an approval just given: what it has handed off meanwhile is acted on now.
CREATE OR REPLACE FUNCTION oneroof.gov_source_trust(p_source text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  -- Sessions that keep something of it at this moment are waited for.
  PERFORM pg_advisory_xact_lock(hashtextextended('oneroof.source.trust', 0));
  UPDATE oneroof.governance_source SET trusted_at = oneroof.gov_now() WHERE source_name = p_source;
  INSERT INTO oneroof.governance_group_mark AS k (class, dirty_reason, dirtied_at, occurred_at, changes, burst, burst_at)
  SELECT DISTINCT ON (h.class) h.class, h.change_kind, oneroof.gov_now(), h.occurred_at, sum(h.changes) OVER (PARTITION BY h.class), 0, oneroof.gov_now()
  FROM oneroof.governance_handoff AS h WHERE h.source_name = p_source ORDER BY h.class, h.occurred_at DESC
  ON CONFLICT (class) DO UPDATE
  SET dirty = true, dirty_reason = CASE WHEN excluded.occurred_at >= k.occurred_at OR NOT k.dirty THEN excluded.dirty_reason ELSE k.dirty_reason END,
      dirtied_at = excluded.dirtied_at, occurred_at = CASE WHEN k.dirty THEN greatest(k.occurred_at, excluded.occurred_at) ELSE excluded.occurred_at END,
      changes = CASE WHEN k.dirty THEN k.changes ELSE 0 END + excluded.changes;
  UPDATE oneroof.governance_event AS e SET state = 'held', source = NULL WHERE e.state = 'untrusted' AND e.source = p_source;
  PERFORM oneroof.gov_finding_clear('input_untrusted_source'::text, ('handoff:' || p_source)::text);
  PERFORM oneroof.gov_audit_note('source'::text, p_source, 'trust'::text);
END
$$;
