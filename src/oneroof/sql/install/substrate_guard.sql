DO $substrate$
DECLARE
  missing text;
BEGIN
  IF current_setting('server_version_num')::int < 150000 THEN
    RAISE EXCEPTION 'oneroof needs PostgreSQL 15 or newer; this is %', current_setting('server_version');
  END IF;
  SELECT string_agg(name, ', ') INTO missing
  FROM unnest(ARRAY[/* tables */]) AS name WHERE to_regclass(name) IS NULL;
  IF missing IS NOT NULL THEN
    RAISE EXCEPTION 'the substrate is not all there: % missing', missing USING HINT = 'oneroof doctor';
  END IF;
END
$substrate$;
