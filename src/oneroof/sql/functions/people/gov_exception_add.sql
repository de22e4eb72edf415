-- Ask that something need not be covered. It counts when another person has approved the request that goes with it.
-- Answers the exception's number; the same again while it waits is one.
CREATE OR REPLACE FUNCTION oneroof.gov_exception_add(p_level text, p_subject text, p_reason text, p_until timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  who CONSTANT text := oneroof.gov_require_person(ARRAY['operator']::text[]);
  at CONSTANT timestamptz := oneroof.gov_now();
  standing record;
  made bigint;
  request bigint;
BEGIN
  IF p_level IS NULL OR p_level NOT IN ('object', 'collection', 'class', 'scope') OR coalesce(p_subject, '') = ''
     OR octet_length(p_subject) > 2000 OR (p_subject = '*' AND p_level <> 'scope')
  THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
      MESSAGE = format('%s is not something that an exception could be for', to_jsonb(concat_ws(' ', p_level, left(p_subject, 100)))),
      HINT = 'object KEY, collection NAME, class NAME, scope SOURCE or scope ''*''';
  ELSIF p_until <= at OR p_until >= '9999-01-01 00:00:00+00' THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'an exception cannot end in the past or beyond the year 9998',
      HINT = '--until 2027-01-31, or leave it out';
  END IF;
  -- Two people at once must not excuse the same thing twice.
  PERFORM pg_advisory_xact_lock(hashtextextended('oneroof.exception:' || p_level || ':' || p_subject, 0));
  SELECT e.exception_id, e.state, e.requested_by, e.reason, e.valid_to INTO standing FROM oneroof.v_exception AS e
  WHERE e.level = p_level AND e.subject = p_subject AND e.state IN ('ratified', 'unratified')
  ORDER BY e.state, e.exception_id LIMIT 1;
  IF FOUND AND standing.state = 'unratified' AND standing.requested_by = who AND standing.reason = btrim(p_reason)
     AND standing.valid_to IS NOT DISTINCT FROM p_until
  THEN
    RETURN standing.exception_id;
  ELSIF FOUND THEN
    PERFORM oneroof.gov_refuse(format('%s %s has exception %s, which is %s', p_level, p_subject, standing.exception_id, standing.state)::text,
                              format('oneroof exceptions revoke %s', standing.exception_id)::text);
  END IF;
  INSERT INTO oneroof.governance_exception (level, subject, reason, valid_from, valid_to, requested_by, requested_at)
  VALUES (p_level, p_subject, btrim(coalesce(p_reason, '')), at, p_until, who, at)
  RETURNING exception_id INTO made;
  request := oneroof.gov_request_open('exception.ratify'::text, made::text, oneroof.gov_exception_content(made), p_reason);
  UPDATE oneroof.governance_exception AS e SET request_id = request WHERE e.exception_id = made;
  RETURN made;
END
$$;
