-- What an approval does, by kind.
CREATE OR REPLACE FUNCTION oneroof.gov_request_apply(p_request bigint, p_kind text, p_subject text, p_content jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  CASE p_kind
    WHEN 'gate.open' THEN
      PERFORM oneroof.gov_gate_open(p_request, p_subject);
    WHEN 'person.change' THEN
      PERFORM oneroof.gov_person_change(p_subject, p_content);
    WHEN 'exception.ratify' THEN
      PERFORM oneroof.gov_exception_ratify(p_request, p_subject);
    WHEN 'ruleset.activate' THEN
      PERFORM oneroof.gov_ruleset_activate(p_request, (p_content ->> 'ruleset_version')::text);
    WHEN 'source.trust' THEN
      PERFORM oneroof.gov_source_trust(p_subject);
    WHEN 'vanishing.allow' THEN
      PERFORM oneroof.gov_vanishing_allow(p_request, p_subject, p_content);
    WHEN 'event.activate' THEN
      PERFORM oneroof.gov_event_activate(p_request, p_content);
  END CASE;
END
$$;
