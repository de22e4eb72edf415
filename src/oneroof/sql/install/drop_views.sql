-- Views are dropped and made again, so that a column may change.
DO $views$
DECLARE
  names text;
BEGIN
  SELECT string_agg(c.oid::regclass::text, ', ') INTO names
  FROM pg_catalog.pg_class AS c
  WHERE c.relnamespace = 'oneroof'::regnamespace AND c.relkind = 'v' AND c.relowner = 'oneroof_owner'::regrole;
  IF names IS NOT NULL THEN
    EXECUTE 'DROP VIEW ' || names;
  END IF;
END
$views$;
