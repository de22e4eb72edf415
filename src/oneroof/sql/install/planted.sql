-- Nobody else's function may have a name of ours: it could be taken for it.
DO $planted$
DECLARE
  planted text;
BEGIN
  SELECT string_agg(format('%s by %s', p.oid::regprocedure, p.proowner::regrole), ', ') INTO planted
  FROM pg_catalog.pg_proc AS p
  WHERE p.pronamespace = 'oneroof'::regnamespace AND p.proname ~ '^gov_' AND p.proowner <> 'oneroof_owner'::regrole;
  IF planted IS NOT NULL THEN
    RAISE EXCEPTION 'functions with names of ours are in the way: %', planted
      USING ERRCODE = 'GV403', HINT = 'find out who put them there, and drop them';
  END IF;
END
$planted$;
