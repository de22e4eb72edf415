-- Is this a request that could be applied? Asked when it is made, so that no nonsense is approved, and again on
-- approval, since the world may have changed. A new kind is a branch here and one in gov_request_apply.
CREATE OR REPLACE FUNCTION oneroof.gov_request_check(p_kind text, p_subject text, p_content jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  CASE p_kind
    WHEN 'gate.open' THEN
      IF p_content IS DISTINCT FROM '{"value": "true"}'::jsonb THEN
        PERFORM oneroof.gov_refuse('a gate is opened with the value true and nothing else'::text, NULL::text);
      END IF;
      IF NOT EXISTS (SELECT FROM oneroof.governance_gate WHERE gate_key = p_subject) THEN
        PERFORM oneroof.gov_refuse(format('there is no gate %L', p_subject)::text, 'oneroof gate list'::text);
      END IF;
    WHEN 'person.change' THEN
      PERFORM oneroof.gov_person_check(p_subject, p_content);
    WHEN 'exception.ratify' THEN
      PERFORM oneroof.gov_exception_check(p_subject, p_content);
    WHEN 'ruleset.activate' THEN
      IF p_content IS DISTINCT FROM jsonb_build_object('ruleset_version', oneroof.gov_ruleset_version()) OR p_subject IS DISTINCT FROM 'rules' THEN
        PERFORM oneroof.gov_refuse('a ruleset is activated by the hash of the rules as they are now'::text, 'oneroof rules diff'::text);
      END IF;
      IF p_content ->> 'ruleset_version' = oneroof.gov_ruleset_active() THEN
        PERFORM oneroof.gov_refuse('the rules as they are now are active already'::text, 'oneroof rules diff'::text);
      END IF;
    WHEN 'source.trust' THEN
      IF NOT EXISTS (SELECT FROM oneroof.governance_source AS s
                     WHERE s.source_name = p_subject AND p_content = jsonb_build_object('relation', s.relation::text)) THEN
        PERFORM oneroof.gov_refuse(format('there is no source %L of that table', p_subject)::text, 'oneroof source list'::text);
      END IF;
      IF EXISTS (SELECT FROM oneroof.governance_source AS s WHERE s.source_name = p_subject AND s.trusted_at IS NOT NULL) THEN
        PERFORM oneroof.gov_refuse(format('the source %s is trusted already', p_subject)::text, 'oneroof source list'::text);
      END IF;
    WHEN 'vanishing.allow' THEN
      IF NOT EXISTS (SELECT FROM oneroof.governance_vanishing AS g
                     WHERE g.group_key = p_subject AND g.allowed IS NULL
                       AND p_content = jsonb_build_object('source_name', g.source_name, 'held', g.held)) THEN
        PERFORM oneroof.gov_refuse(format('no group %L is held with this many vanished objects', p_subject)::text,
                                  'oneroof vanishing list'::text);
      END IF;
    WHEN 'event.activate' THEN
      PERFORM oneroof.gov_event_check(p_subject, p_content);
    ELSE
      PERFORM oneroof.gov_refuse(format('there is no request of kind %L', p_kind)::text, NULL::text);
  END CASE;
END
$$;
