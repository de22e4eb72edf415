-- Open a finding, see an open one again, or open a closed one anew: one row of the host's system_issues per coalesce_key
-- (doc 31 §10). Answers whether it was opened. What was seen a moment ago and has not changed is not written again.
CREATE OR REPLACE FUNCTION oneroof.gov_finding_raise(p_type text, p_subject text, p_title text, p_details jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  key CONSTANT text := p_type || ':' || p_subject;
  given CONSTANT jsonb := coalesce(p_details, '{}'::jsonb);
  known bigint;
  found_issue record;
BEGIN
  IF NOT EXISTS (SELECT FROM oneroof.governance_finding_type WHERE issue_type = p_type) OR coalesce(p_subject, '') = '' THEN
    PERFORM oneroof.gov_refuse(format('there is no finding of type %L about %L', p_type, p_subject)::text,
                              'the types are the rows of governance_finding_type'::text);
  END IF;
  -- Asked before anything is locked: a watch every few seconds must not write every few seconds.
  IF EXISTS (SELECT FROM oneroof.v_finding AS f
             WHERE f.coalesce_key = key AND f.is_open AND f.last_seen_at > at - interval '30 seconds' AND f.details = given)
  THEN
    RETURN false;
  END IF;
  INSERT INTO oneroof.governance_finding (coalesce_key, issue_type, is_open, last_seen_at)
  VALUES (key, p_type, false, at) ON CONFLICT (coalesce_key) DO NOTHING;
  PERFORM FROM oneroof.governance_finding WHERE coalesce_key = key FOR UPDATE;

  SELECT f.issue_id, f.is_open, f.last_seen_at > at - interval '30 seconds' AND f.details = given AS is_fresh INTO found_issue
  FROM oneroof.v_finding AS f WHERE f.coalesce_key = key AND f.issue_id IS NOT NULL;
  known := found_issue.issue_id;
  IF known IS NULL THEN
    -- From an earlier install: it goes on, and no second row begins.
    known := (SELECT max(i.id) FROM host.system_issues AS i WHERE i.coalesce_key = key AND i.source_system = 'oneroof');
  END IF;
  IF known IS NULL THEN
    INSERT INTO host.system_issues (issue_type, bucket, severity, status, title, entity_type, entity_code, owner_ref, coalesce_key,
      occurrence_count, reopen_count, business_logic_hash, violation_hash, source_system, details, first_seen_at, last_seen_at)
    SELECT t.issue_type, t.bucket, t.severity, 'open', p_title, split_part(p_subject, ':', 1),
           regexp_replace(p_subject, '^[^:]*:', ''), t.owner_hint, key, 1, 0, md5(p_type), md5(key), 'oneroof', given, at, at
    FROM oneroof.governance_finding_type AS t WHERE t.issue_type = p_type
    RETURNING id INTO known;
  ELSIF found_issue.is_open AND found_issue.is_fresh THEN
    RETURN false;
  ELSIF found_issue.is_open THEN
    UPDATE host.system_issues SET occurrence_count = occurrence_count + 1, last_seen_at = at, title = p_title, details = given WHERE id = known;
  ELSE
    UPDATE host.system_issues
    SET status = 'open', resolved_at = NULL, reopen_count = reopen_count + 1, occurrence_count = occurrence_count + 1,
        last_seen_at = at, title = p_title, details = given
    WHERE id = known;
  END IF;
  UPDATE oneroof.governance_finding SET issue_id = known, is_open = true, last_seen_at = at WHERE coalesce_key = key;
  RETURN found_issue.is_open IS NOT TRUE;
END
$$;
