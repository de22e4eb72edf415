-- Take over who answers for what: rows of {line, level, subject, responsibility, owner, valid_from?, valid_to?}, all or none.
-- One that is there already is changed only if it differs; one without a beginning begins now, unless it is there and
-- still holds. With p_replace whatever the rows do not name ends now. Answers {added, changed, unchanged, ended, wrong, problems}:
-- wrong rows are counted and the first ten described, and then nothing is written.
CREATE OR REPLACE FUNCTION oneroof.gov_ownership_import(p_rows jsonb, p_replace boolean, p_dry_run boolean) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  who CONSTANT text := oneroof.gov_require_person(ARRAY['operator']::text[]);
  at CONSTANT timestamptz := oneroof.gov_now();
  answer jsonb;
BEGIN
  -- Two imports at once would each judge what the other is about to change.
  LOCK TABLE oneroof.governance_object_ownership IN SHARE ROW EXCLUSIVE MODE;
  WITH asked AS (
    SELECT a.line, a.level, a.subject, a.responsibility, a.owner, a.valid_to, o.ownership_id, o.owner_ref,
           o.valid_from AS old_from, o.valid_to AS old_to,
           coalesce(a.valid_from, CASE WHEN o.valid_to <= at THEN NULL ELSE o.valid_from END, at) AS valid_from
    FROM jsonb_to_recordset(p_rows) AS a (line bigint, level text, subject text, responsibility text, owner text,
                                          valid_from timestamptz, valid_to timestamptz)
    LEFT JOIN oneroof.governance_object_ownership AS o
      ON o.level = a.level AND o.subject = a.subject AND o.responsibility = a.responsibility AND o.owner_ref = a.owner
  ), known AS (
    SELECT p.person_code AS owner FROM oneroof.governance_person AS p WHERE p.removed_at IS NULL
    UNION SELECT f.office_code FROM oneroof.governance_office AS f
  ), problem AS (
    -- Who has left may stay named where nothing changes, so that an export can always be imported again.
    SELECT a.line, format('%s is neither a registered person nor an office', to_jsonb(a.owner)) AS said
    FROM asked AS a
    WHERE NOT EXISTS (SELECT FROM known AS k WHERE k.owner = a.owner)
      AND (a.old_from, a.old_to) IS DISTINCT FROM (a.valid_from, a.valid_to)
    UNION ALL
    SELECT a.line, format('it would end on %s, before it begins on %s',
                          to_char(a.valid_to AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                          to_char(a.valid_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    FROM asked AS a WHERE a.valid_to <= a.valid_from
  ), written AS (
    INSERT INTO oneroof.governance_object_ownership
      (level, subject, responsibility, owner_ref, valid_from, valid_to, recorded_by, recorded_at)
    SELECT a.level, a.subject, a.responsibility, a.owner, a.valid_from, a.valid_to, who, at
    FROM asked AS a
    WHERE NOT p_dry_run AND NOT EXISTS (SELECT FROM problem)
      AND (a.ownership_id IS NULL OR (a.old_from, a.old_to) IS DISTINCT FROM (a.valid_from, a.valid_to))
    ON CONFLICT (level, subject, responsibility, owner_ref) DO UPDATE
    SET valid_from = excluded.valid_from, valid_to = excluded.valid_to, recorded_by = who, recorded_at = at
  ), left_out AS (
    SELECT o.ownership_id, o.valid_from >= at AS has_not_begun
    FROM oneroof.governance_object_ownership AS o
    WHERE p_replace AND (o.valid_to IS NULL OR o.valid_to > at)
      AND NOT EXISTS (SELECT FROM asked AS a WHERE a.ownership_id = o.ownership_id)
  ), ended AS (
    UPDATE oneroof.governance_object_ownership AS o SET valid_to = at, recorded_by = who, recorded_at = at
    FROM left_out AS l
    WHERE o.ownership_id = l.ownership_id AND NOT l.has_not_begun AND NOT p_dry_run AND NOT EXISTS (SELECT FROM problem)
  ), withdrawn AS (
    -- It has never held, so there is nothing to keep of it.
    DELETE FROM oneroof.governance_object_ownership AS o USING left_out AS l
    WHERE o.ownership_id = l.ownership_id AND l.has_not_begun AND NOT p_dry_run AND NOT EXISTS (SELECT FROM problem)
  )
  SELECT jsonb_build_object(
    'added', count(*) FILTER (WHERE a.ownership_id IS NULL),
    'changed', count(*) FILTER (WHERE a.ownership_id IS NOT NULL AND (a.old_from, a.old_to) IS DISTINCT FROM (a.valid_from, a.valid_to)),
    'unchanged', count(*) FILTER (WHERE a.ownership_id IS NOT NULL AND (a.old_from, a.old_to) IS NOT DISTINCT FROM (a.valid_from, a.valid_to)),
    'ended', (SELECT count(*) FROM left_out),
    'wrong', (SELECT count(*) FROM problem),
    'problems', (SELECT coalesce(jsonb_agg(jsonb_build_object('line', f.line, 'said', f.said) ORDER BY f.line), '[]')
                 FROM (SELECT p.line, p.said FROM problem AS p ORDER BY p.line LIMIT 10) AS f))
  INTO answer
  FROM asked AS a;
  IF NOT p_dry_run AND (answer ->> 'wrong')::bigint = 0
     AND (answer ->> 'added')::bigint + (answer ->> 'changed')::bigint + (answer ->> 'ended')::bigint > 0
  THEN
    PERFORM oneroof.gov_audit_note('ownership'::text, who,
      format('import: %s added, %s changed, %s unchanged, %s ended', answer ->> 'added', answer ->> 'changed',
             answer ->> 'unchanged', answer ->> 'ended')::text);
  END IF;
  RETURN answer;
END
$$;
