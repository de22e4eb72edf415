-- Make the working copy, which must be of this version, the active ruleset. A version that was active before is so again.
CREATE OR REPLACE FUNCTION oneroof.gov_ruleset_activate(p_request bigint, p_version text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  v_before CONSTANT text := oneroof.gov_ruleset_active();
  now_content jsonb;
BEGIN
  LOCK TABLE oneroof.governance_rule IN SHARE MODE;
  LOCK TABLE oneroof.governance_ruleset IN SHARE ROW EXCLUSIVE MODE;
  now_content := oneroof.gov_ruleset_content();
  IF encode(sha256(convert_to(now_content::text, 'UTF8')), 'hex') <> p_version THEN
    PERFORM oneroof.gov_refuse('the rules, the detectors or the axes were changed meanwhile'::text, 'request it again'::text);
  END IF;
  UPDATE oneroof.governance_ruleset SET retired_at = at WHERE retired_at IS NULL AND ruleset_version <> p_version;
  INSERT INTO oneroof.governance_ruleset AS s
    (ruleset_version, content, content_sha256, created_at, activated_at, activated_by, request_id)
  VALUES (p_version, now_content, p_version, at, at, session_user, p_request)
  ON CONFLICT (ruleset_version) DO UPDATE
  SET activated_at = excluded.activated_at, activated_by = excluded.activated_by, request_id = excluded.request_id, retired_at = NULL;
  INSERT INTO oneroof.governance_ruleset_rule
    (ruleset_version, rule_code, rule_kind, priority, scope, predicate, verdict, undecided_reason, input_state, finding_type, severity,
     stale_after, description)
  SELECT p_version, r.rule_code, r.rule_kind, r.priority, r.scope, r.predicate, r.verdict, r.undecided_reason, r.input_state,
         r.finding_type, r.severity, r.stale_after, r.description
  FROM oneroof.governance_rule AS r WHERE r.enabled
  ON CONFLICT (ruleset_version, rule_code) DO NOTHING;
  -- Judged anew is what some changed rule may say otherwise of; of all else this version says the same as the one before. What a
  -- rule says of a decision depends on the facts alone.
  UPDATE oneroof.governance_fact_set AS f
  SET is_dirty = f.is_dirty OR a.is_touched, ruleset_version = CASE WHEN a.is_touched THEN f.ruleset_version ELSE p_version END
  FROM (SELECT s.source_name, s.facts_hash,
               EXISTS (SELECT FROM oneroof.gov_ruleset_changed(v_before, p_version) AS c
                       WHERE oneroof.gov_facts_of(s.source_name, s.class, s.grain, s.row_facts, k.facts, NULL::jsonb)
                             @> (c.scope - '{decided,state,owners,exception}'::text[])) AS is_touched
        FROM oneroof.governance_fact_set AS s
        LEFT JOIN oneroof.governance_class AS k ON k.source_name = s.source_name AND k.class = s.class) AS a
  WHERE f.source_name = a.source_name AND f.facts_hash = a.facts_hash AND f.ruleset_version <> p_version;
  UPDATE oneroof.governance_object SET is_dirty = true WHERE NOT is_dirty AND ruleset_version <> p_version;
  -- The installation itself writes nothing into the host's channels.
  IF p_request IS NOT NULL THEN
    PERFORM oneroof.gov_audit_note('ruleset'::text, p_version, 'activate'::text);
  END IF;
END
$$;
