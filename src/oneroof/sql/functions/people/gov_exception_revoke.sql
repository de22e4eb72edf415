-- Take an exception back: one person is enough, as for closing a gate. A request that waits for it becomes void. Answers
-- whether it counted or could still have.
CREATE OR REPLACE FUNCTION oneroof.gov_exception_revoke(p_exception bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  who CONSTANT text := oneroof.gov_require_person(ARRAY['operator', 'approver']::text[]);
  at CONSTANT timestamptz := oneroof.gov_now();
  request bigint;
BEGIN
  -- The request first, in the order of locks of a decision.
  SELECT r.request_id INTO request FROM oneroof.governance_exception AS e
  JOIN oneroof.governance_request AS r ON r.request_id = e.request_id
  WHERE e.exception_id = p_exception FOR UPDATE OF r;
  IF NOT FOUND THEN
    PERFORM oneroof.gov_refuse(format('there is no exception %s', p_exception)::text, 'oneroof exceptions list'::text);
  END IF;
  IF (SELECT e.state FROM oneroof.v_exception AS e WHERE e.exception_id = p_exception) NOT IN ('ratified', 'unratified') THEN
    RETURN false;
  END IF;
  UPDATE oneroof.governance_exception AS e SET revoked_at = at, revoked_by = who WHERE e.exception_id = p_exception;
  UPDATE oneroof.governance_request AS r
  SET state = 'void', decider = who, decider_login = session_user, decided_at = at, decision_reason = 'the exception was revoked'
  WHERE r.request_id = request AND r.state = 'pending';
  IF FOUND THEN
    UPDATE host.approval_requests SET status = 'void', decided_by = session_user, decided_at = at, updated_at = at
    WHERE id = request AND status = 'pending';
    PERFORM oneroof.gov_audit_note('request'::text, request::text, 'void'::text);
  END IF;
  PERFORM oneroof.gov_audit_note('exception'::text, p_exception::text, 'revoke'::text);
  RETURN true;
END
$$;
