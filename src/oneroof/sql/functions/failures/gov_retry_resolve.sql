-- A person says that dead letters need no more attempts, and why. Answers how many; nothing is deleted.
CREATE OR REPLACE FUNCTION oneroof.gov_retry_resolve(p_items bigint[], p_reason text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  ended bigint;
BEGIN
  IF coalesce(btrim(p_reason), '') = '' THEN
    PERFORM oneroof.gov_refuse('a dead letter is resolved with a reason'::text, 'oneroof dlq resolve ID --reason …'::text);
  END IF;
  ended := oneroof.gov_retry_end(p_items, 'resolved'::text, p_reason);
  IF ended > 0 THEN
    PERFORM oneroof.gov_audit_note('dead_letter'::text, array_to_string(p_items[1:20], ',')::text, 'resolve'::text);
  END IF;
  RETURN ended;
END
$$;
