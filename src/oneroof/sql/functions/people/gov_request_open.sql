-- Ask for something that another person must approve. The same request twice is one request.
CREATE OR REPLACE FUNCTION oneroof.gov_request_open(p_kind text, p_subject text, p_content jsonb, p_reason text)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  who CONSTANT text := oneroof.gov_require_person(ARRAY['operator']::text[]);
  reason CONSTANT text := btrim(coalesce(p_reason, ''));
  digest CONSTANT text := oneroof.gov_request_digest(p_kind, p_subject, p_content, reason, session_user::text);
  request bigint;
BEGIN
  IF length(reason) NOT BETWEEN 1 AND 1000 THEN
    PERFORM oneroof.gov_refuse('a request needs a reason of 1 to 1000 characters'::text, '--reason "why, for the person who decides"'::text);
  END IF;
  IF length(p_content::text) > 10000 THEN
    PERFORM oneroof.gov_refuse('a request''s content is at most 10000 characters'::text, NULL::text);
  END IF;
  PERFORM oneroof.gov_request_check(p_kind, p_subject, p_content);
  -- Two clicks at once must not make two requests.
  PERFORM pg_advisory_xact_lock(hashtextextended('oneroof.request:' || digest, 0));
  SELECT r.request_id INTO request FROM oneroof.governance_request AS r
  WHERE r.request_kind = p_kind AND r.subject = p_subject AND r.content_sha256 = digest AND r.state = 'pending';
  IF FOUND THEN
    RETURN request;
  END IF;
  INSERT INTO host.approval_requests (request_kind, subject, content, reason, requested_by, status)
  VALUES (p_kind, p_subject, p_content, reason, session_user, 'pending')
  RETURNING id INTO request;
  INSERT INTO oneroof.governance_request
    (request_id, request_kind, subject, content, reason, content_sha256, requester, requester_login, requested_at)
  VALUES (request, p_kind, p_subject, p_content, reason, digest, who, session_user, oneroof.gov_now());
  PERFORM oneroof.gov_audit_note('request'::text, request::text, 'request'::text);
  RETURN request;
END
$$;
