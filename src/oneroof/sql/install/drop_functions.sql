-- Functions of ours that are no longer shipped.
DO $functions$
DECLARE
  names text;
BEGIN
  SELECT string_agg(p.oid::regprocedure::text, ', ') INTO names
  FROM pg_catalog.pg_proc AS p
  WHERE p.pronamespace = 'oneroof'::regnamespace AND p.proowner = 'oneroof_owner'::regrole
    AND p.proname NOT IN (/* shipped */);
  IF names IS NOT NULL THEN
    EXECUTE 'DROP FUNCTION ' || names;
  END IF;
END
$functions$;
