-- One audit row for a batch of the intake that did something, of news or of what failed before, for a replay, or for dead letters
-- (doc 32 §2).
CREATE OR REPLACE FUNCTION oneroof.gov_handoff_audit(p_source text, p_what text, p_seen bigint, p_marked bigint) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT oneroof.gov_audit_note('handoff'::text, p_source,
    CASE p_what WHEN 'dead' THEN format('dead letters=%s', p_seen)
                ELSE format('%s seen=%s marked=%s', CASE WHEN p_what IN ('replay', 'retry') THEN p_what ELSE 'take' END, p_seen, p_marked) END::text)
$$;
