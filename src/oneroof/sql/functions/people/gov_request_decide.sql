-- Approve or reject what another person asked. Answers the state the request is in afterwards: an edit of the host's
-- row since the request was made, or of what it is bound to, voids it, and that stays on record, so it is an answer and
-- not an exception.
CREATE OR REPLACE FUNCTION oneroof.gov_request_decide(p_request bigint, p_decision text, p_reason text)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  who CONSTANT text := oneroof.gov_require_person(ARRAY['approver']::text[]);
  request oneroof.governance_request;
  outcome text;
BEGIN
  IF p_decision IS NULL OR p_decision NOT IN ('approved', 'rejected') THEN
    PERFORM oneroof.gov_refuse('a decision is approved or rejected'::text, NULL::text);
  END IF;
  SELECT * INTO request FROM oneroof.governance_request WHERE request_id = p_request FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM oneroof.gov_refuse(format('there is no request %s', p_request)::text, 'oneroof approvals list'::text);
  ELSIF request.state <> 'pending' THEN
    PERFORM oneroof.gov_refuse(format('request %s is already %s%s', p_request, request.state, ' by ' || request.decider)::text,
                              'oneroof approvals list'::text);
  ELSIF p_decision = 'approved' AND NOT EXISTS (
    SELECT FROM oneroof.governance_person WHERE person_code = request.requester AND removed_at IS NULL)
  THEN
    PERFORM oneroof.gov_refuse(format('%s, who made request %s, is no longer a person here', request.requester, p_request)::text,
                              'reject it'::text);
  ELSIF p_decision = 'approved' AND (
    request.requester = who OR request.requester_login = session_user
    OR who = (SELECT person_code FROM oneroof.governance_person_login WHERE login = request.requester_login))
  THEN
    PERFORM oneroof.gov_refuse(
      format('request %s was made by %s, who cannot also approve it%s', p_request, request.requester,
             CASE WHEN request.requester_login = session_user THEN ''
                  ELSE format(' (login %s is the same person)', quote_ident(session_user)) END)::text,
      'another person with the approver role decides'::text);
  END IF;

  -- An edit that is under way is waited for, and then seen.
  PERFORM FROM host.approval_requests WHERE id = p_request FOR UPDATE;
  outcome := CASE
    WHEN (SELECT array_agg(oneroof.gov_request_digest(a.request_kind, a.subject, a.content, a.reason, a.requested_by) || a.status)
          FROM host.approval_requests AS a WHERE a.id = p_request)
         IS DISTINCT FROM ARRAY[request.content_sha256 || 'pending']
      OR (p_decision = 'approved' AND NOT oneroof.gov_request_is_current(request.request_kind, request.content))
    THEN 'void' ELSE p_decision END;
  IF outcome = 'approved' THEN
    PERFORM oneroof.gov_request_check(request.request_kind, request.subject, request.content);
    PERFORM oneroof.gov_request_apply(p_request, request.request_kind, request.subject, request.content);
  END IF;
  UPDATE oneroof.governance_request
  SET state = outcome, decider = who, decider_login = session_user, decided_at = oneroof.gov_now(), decision_reason = p_reason
  WHERE request_id = p_request;
  UPDATE host.approval_requests
  SET status = outcome, decided_by = session_user, decided_at = oneroof.gov_now(), updated_at = oneroof.gov_now()
  WHERE id = p_request;
  PERFORM oneroof.gov_audit_note('request'::text, p_request::text, outcome);
  RETURN outcome;
END
$$;
