-- In our schema nothing may belong to another role: it could be taken for ours.
DO $planted$
DECLARE
  planted text;
BEGIN
  SELECT string_agg(format('%s by %s', p.oid::regprocedure, p.proowner::regrole), ', ') INTO planted
  FROM pg_catalog.pg_proc AS p
  WHERE p.pronamespace = 'oneroof'::regnamespace AND p.proowner <> 'oneroof_owner'::regrole;
  IF planted IS NOT NULL THEN
    RAISE EXCEPTION 'functions of other roles are in the schema oneroof: %', planted
      USING ERRCODE = 'GV403', HINT = 'find out who put them there, and drop them';
  END IF;
END
$planted$;
