-- Make the working copy, which must be of this version, the active ruleset. A version that was active before is so again.
CREATE OR REPLACE FUNCTION public.gov_ruleset_activate(p_request bigint, p_version text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := public.gov_now();
  now_content jsonb;
BEGIN
  LOCK TABLE public.governance_rule IN SHARE MODE;
  LOCK TABLE public.governance_ruleset IN SHARE ROW EXCLUSIVE MODE;
  now_content := public.gov_ruleset_content();
  IF encode(sha256(convert_to(now_content::text, 'UTF8')), 'hex') <> p_version THEN
    PERFORM public.gov_refuse('the rules or the detectors were changed meanwhile'::text, 'request it again'::text);
  END IF;
  UPDATE public.governance_ruleset SET retired_at = at WHERE retired_at IS NULL AND ruleset_version <> p_version;
  INSERT INTO public.governance_ruleset AS s
    (ruleset_version, content, content_sha256, created_at, activated_at, activated_by, request_id)
  VALUES (p_version, now_content, p_version, at, at, session_user, p_request)
  ON CONFLICT (ruleset_version) DO UPDATE
  SET activated_at = excluded.activated_at, activated_by = excluded.activated_by, request_id = excluded.request_id, retired_at = NULL;
  INSERT INTO public.governance_ruleset_rule
    (ruleset_version, rule_code, rule_kind, priority, scope, predicate, verdict, undecided_reason, input_state, finding_type, severity,
     stale_after, description)
  SELECT p_version, r.rule_code, r.rule_kind, r.priority, r.scope, r.predicate, r.verdict, r.undecided_reason, r.input_state,
         r.finding_type, r.severity, r.stale_after, r.description
  FROM public.governance_rule AS r WHERE r.enabled
  ON CONFLICT (ruleset_version, rule_code) DO NOTHING;
  -- The installation itself writes nothing into the host's channels.
  IF p_request IS NOT NULL THEN
    PERFORM public.gov_audit('ruleset'::text, p_version, 'activate'::text);
  END IF;
END
$$;
